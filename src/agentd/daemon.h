#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agentd/config.h"
#include "agentd/inbox.h"
#include "agentd/loop.h"
#include "agentd/network_control.h"
#include "agentd/node_watch.h"
#include "agentd/ordered_runtime.h"
#include "agentd/performer.h"
#include "agentd/pool_performer.h"
#include "agentd/renewal.h"
#include "agentd/runtime_set.h"
#include "agentd/streams.h"
#include "agentd/usage.h"
#include "link/agent_end.h"
#include "runtime/supervision/health_check.h"
#include "store/store.h"
#include "trust/files.h"

namespace berth::agentd {

// The link to the control plane, as the daemon sees it; link::AgentEnd in production.
struct Link {
  std::function<void(std::uint64_t connection, v1::FromAgent)> send;
  std::function<void(trust::KeyAndCertificate)> set_identity;
};

struct StoreAccess {
  store::Store& store;
  bool was_lost = false;  // or is older than it should be
};

struct RuntimeFactory {
  std::function<std::unique_ptr<runtime::Runtime>(const RuntimeConfig&, runtime::RunListener&)>
      make;
  // Those that something of an earlier life may still run on.
  std::function<std::vector<RuntimeConfig>()> of_runs = {};
};

struct IdentityAccess {
  std::optional<trust::Credentials> credentials;  // to be renewed
  std::function<Result<void>(const trust::Credentials&)> save;
};

// What instances say and how they are.
struct InstanceAccess {
  std::function<Result<ReadLog>(const model::InstanceKey&, std::size_t lines)> open_log;
  std::function<runtime::HealthAnswer(const model::InstanceSpec&, runtime::Runtime&)> check_health;
};

struct NetworkAccess {
  std::shared_ptr<NetworkControl> control = nullptr;  // none: instances use that of the machine
  std::function<std::optional<model::Ipv4>()> address = {};  // of this node in networks; may change
  std::function<void()> remove = {};                         // when nothing runs any more
};

struct DiskAccess {
  // What an instance has on disk; none: nothing is said of it. May take long.
  std::function<model::Footprint(const model::InstanceKey&)> count = {};
  EraseData erase = {};
  TidyImages tidy_images = {};
};

// What the daemon stands on, one part per concern.
struct Dependencies {
  StoreAccess store;
  RuntimeFactory runtimes;
  std::function<Link(link::AgentEndListener)> open_link = {};  // none: nobody to talk to
  IdentityAccess identity = {};
  InstanceAccess instances = {};
  NetworkAccess networks = {};
  StateEnds states = {};
  DiskAccess disk = {};
  PoolAccess pools = {};
};

// The agent: its core, and all that it does in the world.
class Daemon {
 public:
  // Loads what was durable. What is damaged is left out: then the agent keeps what runs until it is
  // told anew.
  static Result<std::unique_ptr<Daemon>> open(Config config, Dependencies dependencies);
  ~Daemon();

  // Until `stop`, on this thread. What runs goes on running, unless the configuration says
  // otherwise.
  void run();

  // From any thread.
  void stop();

  // The runtimes to offer from now on, while it runs: others come, some go, what runs goes on, also
  // on those that are no longer offered. What could not be done is logged. From any thread.
  void set_runtimes(const std::vector<RuntimeConfig>& runtimes);

 private:
  struct Facts {
    agent::Restored restored;
    model::NodeInfo node;
  };

  Daemon(Config config, Dependencies dependencies, Facts facts);

  void tell(agent::Event event);
  void received(std::uint64_t connection, v1::ToAgent message);
  void log_disconnected(const std::string& why) const;
  void failed_to_connect(std::string why);
  void received_command(const v1::Command& message);
  void received_pool_command(const v1::PoolCommand& message);
  link::AgentEndListener listener();
  void report(std::uint64_t connection, const model::Report& report);
  void send(std::uint64_t connection, v1::FromAgent message);
  agent::HealthChecked check_health(const agent::CheckHealth& check);
  void measure();
  void count_disks();
  void look_at_states();
  std::vector<model::PartitionUsage> partitions() const;
  // But for those of pools, whose data nobody counts or saves.
  std::set<model::InstanceKey> running() const;
  Result<std::unique_ptr<runtime::ExecSession>> exec(const model::InstanceKey& key,
                                                     const runtime::ExecRequest& request,
                                                     const runtime::ExecListener& listener);
  std::vector<RuntimeSet::Offered> offer_at_start();
  std::vector<RuntimeSet::Offered> offer(const std::vector<RuntimeConfig>& runtimes);
  void begin();
  void end();
  void stop_all_instances();

  const Config config_;
  Dependencies dependencies_;
  model::NodeInfo node_;
  Inbox inbox_;
  std::atomic<bool> leaving_ = false;  // the core is gone, all that matters is who still runs
  shell::Mailbox<agent::Exited> farewell_;
  RuntimeSet runtimes_;
  std::unique_ptr<Performer> performer_;
  std::unique_ptr<PoolPerformer> pools_;
  Loop loop_;
  UsageMeter meter_;
  std::mutex watch_mutex_;
  std::vector<RuntimeSet::Offered> offered_;  // until there is a watch
  std::unique_ptr<NodeWatch> watch_;
  std::unique_ptr<shell::Periodic> measuring_;
  std::unique_ptr<shell::Periodic> counting_;
  std::unique_ptr<shell::Periodic> saving_;
  mutable std::mutex disk_mutex_;
  std::map<model::InstanceKey, model::Footprint> on_disk_;  // when it was counted last
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<Renewal> renewal_;
  std::string last_failure_;  // to connect; of the link's threads, which call one at a time
  std::mutex link_mutex_;
  std::optional<Link> link_;
};

}  // namespace berth::agentd
