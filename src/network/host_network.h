#pragma once

#include <sys/socket.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "model/network.h"
#include "network/firewall.h"
#include "network/inspection.h"
#include "network/links.h"
#include "network/name_server.h"
#include "network/network_namespace.h"
#include "runtime/instance_networks.h"

namespace berth::network {

struct Config {
  std::string node;
  std::string tag;  // of the agent on this machine; in the name of all that others can see
  std::filesystem::path state_dir;
  std::optional<model::Ipv4> address;     // where other nodes reach this one; nullopt: found out
  std::string server;                     // the control plane's host: who reaches it shows how
  model::Subnet link_range;               // for the pairs of addresses between machine and routers
  std::vector<model::Ipv4> name_servers;  // who is asked for names that are not ours
};

// The networks of an agent's instances, for real. Each agent has a router: a network namespace of
// its own, in which a bridge and a tunnel per provider network, the firewall and the name server
// live, so that agents on one machine are as far from each other as agents on several. All of it
// outlives the agent and is found again by its names; nothing that is as it should be is touched.
//
// Safe to use from several threads. A thread of its own keeps trying what did not work, and starts
// the name server again should it end.
class HostNetwork final : public runtime::InstanceNetworks {
 public:
  // The error says why there can be no networks here.
  static Result<std::unique_ptr<HostNetwork>> open(Config config);
  ~HostNetwork() override;  // everything stays

  // Takes away all that an agent has made, also of an earlier life. Unavailable while one of its
  // instances runs. Not while a HostNetwork of that agent keeps it alive.
  static Result<void> remove_all(const Config& config);

  // Where other nodes reach this one's tunnels; it may change.
  model::Ipv4 address() const;

  // The router, as the machine reaches it: what is sent to the address arrives there.
  std::string router_namespace_name() const;
  model::Ipv4 router_address() const { return parts_.link_address; }

  // What the networks shall be, the whole truth. Does not block.
  void apply(const model::NodeNetwork& network);

  tl::expected<runtime::JoinedNetwork, model::Problem> attach(
      const model::InstanceKey& key, const model::RunId& run,
      const model::InstanceNetwork& network) override;
  tl::expected<runtime::JoinedNetwork, model::Problem> attach_guest(
      const model::InstanceKey& key, const model::RunId& run,
      const model::InstanceNetwork& network) override;
  void release(const model::InstanceKey& key, const model::RunId& run) override;

  // Looks at what there should be; what is missing is made again soon.
  std::string why_not_ready() override;

  // A socket that stands beside the instances, at their router; -1 and errno if there is none.
  int open_socket(int family = AF_INET,
                  int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK) const;

  // What instances have received and sent, since they have joined; and all of them together with
  // what lies beyond this node, tunnels included.
  std::map<model::InstanceKey, Counters> traffic();
  Counters traffic_of_node();

 private:
  struct Parts {
    NetworkNamespace host;
    NetworkNamespace router;
    Links host_links;
    Links router_links;
    Inspection inspection;
    model::Ipv4 link_address;
    std::optional<model::Ipv4> outer;  // the address that we would like to have
    std::uint32_t mtu = 1500;
  };
  struct Problems {
    std::map<model::OwnerId, std::string> networks;
    std::string firewall;
    std::string names;
    std::string address;
    friend bool operator==(const Problems&, const Problems&) = default;
    bool any() const;
  };

  HostNetwork(Config config, std::string tag, Parts parts);

  // Who speaks at an instance's address: programs in its namespace, or a guest with a network stack
  // of its own.
  enum class Speaker { Programs, Guest };

  tl::expected<runtime::JoinedNetwork, model::Problem> attach(const model::InstanceKey& key,
                                                              const model::RunId& run,
                                                              const model::InstanceNetwork& network,
                                                              Speaker speaker);
  bool is_told_of(const model::OwnerId& owner) const;  // with its mutex held
  bool is_stopping() const;

  // With the mutex held:
  void take_told();
  void sweep();
  void realise();
  void announce_instances();
  Inspection::Made what_was_made() const;
  void show(std::optional<Inspection::Made> made);
  Result<void> ensure_network(const model::ProviderNetwork& network);
  Result<void> remove_others();
  Result<void> ensure_firewall();
  Result<void> ensure_address();
  Result<void> prepare_for(Speaker speaker, const std::string& instance_namespace);
  Result<void> join(const std::string& name, const model::InstanceKey& key,
                    const model::InstanceNetwork& network, const model::ProviderNetwork& in);
  void take_away(const std::string& instance_namespace);
  void log_changes(const Problems& before) const;

  static std::optional<model::Ipv4> find_outer_address(const Config& config);
  void keep();

  const Config config_;
  const std::string tag_;
  mutable std::mutex told_mutex_;  // held for a moment only
  std::condition_variable changed_;
  std::optional<model::NodeNetwork> told_;
  bool must_announce_ = false;
  bool must_write_rules_ = false;         // somebody has taken them away
  std::optional<Inspection::Made> made_;  // nullopt while it is being changed
  std::string firewall_problem_;
  bool stopping_ = false;

  std::mutex inspection_mutex_;  // of parts_.inspection and what follows; held for a moment only
  std::string missing_;          // when it was looked last

  mutable std::mutex mutex_;  // of all the rest; held while something is done
  Parts parts_;
  NameServer name_server_;
  std::optional<model::NodeNetwork> wanted_;
  // Whose an instance's namespace is, as far as this life of the agent has given it: a run does not
  // live yet while it is only about to be started.
  std::map<model::InstanceKey, model::RunId> users_;
  bool is_realised_ = false;
  std::optional<model::NodeNetwork> firewalled_;  // what the rules were made of
  std::optional<model::Ipv4> address_;            // written under both mutexes
  Problems problems_;
  runtime::shim::Fd wake_;
  std::thread keeper_;  // the last: it uses the others
};

}  // namespace berth::network
