#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/pool/pool_events.h"
#include "agentd/app_sockets.h"
#include "agentd/instance_ports.h"
#include "agentd/ordered_runtime.h"
#include "base/result.h"
#include "session/gateway.h"
#include "session/session_service.h"
#include "shell/workers.h"

namespace berth::agentd {

// What pool instances and their sessions need of this machine.
struct PoolAccess {
  std::filesystem::path sockets = {};  // the directory of the apps' sockets; its parent is there
  // Whose runs an earlier life has left; and what was kept beside those that still run.
  std::function<std::vector<model::InstanceKey>()> runs = {};
  std::function<std::map<model::InstanceKey, model::PoolNote>()> notes = {};
  // May block.
  std::function<void(const agent::KeepNote&)> keep_note = {};
  // A socket that does not block, from where instances' own networks are reached; -1: none.
  std::function<int(int family, int type)> network_socket = {};
  // Empty: a forwarder.
  std::function<Result<std::unique_ptr<session::Gateway>>(session::GatewayCallbacks)> gateway = {};
  // Takes away what a gateway has left in the kernel; the agent ends, and its instances with it.
  std::function<void()> remove_gateway = {};
};

// Does what the core decides about pools beside their runs: the session service for their apps, the
// endpoints of sessions, ports and notes. All but the notes is done at once, for nothing of it
// waits for anybody. Answers are told as facts.
class PoolPerformer {
 public:
  static Result<std::unique_ptr<PoolPerformer>> open(PoolAccess access, Tell tell);
  ~PoolPerformer();

  // By one thread.
  void perform(const agent::PoolAction& action);

  // Notes are kept, and nothing is done or told after it. Apps find the next life at the same
  // sockets.
  void stop();

 private:
  struct Session {
    model::SessionRef ref;
    model::InstanceKey instance;
    bool used = false;
  };

  PoolPerformer(PoolAccess access, Tell tell);

  void begin(const agent::Furnish& furnish);
  void begin(const agent::ServeApp& serve);
  void begin(const agent::Unfurnish& unfurnish);
  void begin(const agent::OpenInApp& open);
  void begin(const agent::CloseInApp& close);
  void begin(const agent::OpenEndpoints& open);
  void begin(const agent::RefuseNew& refuse);
  void begin(const agent::CloseEndpoints& close);
  void begin(const agent::KeepNote& keep);

  Result<agent::Furnished> furnish(const agent::Furnish& what);
  Result<std::vector<model::SessionPort>> find_ports(const agent::Furnish& what);
  Result<void> serve(const model::InstanceKey& key, const std::string& token);
  void unfurnish(const model::InstanceKey& key);
  Result<std::unique_ptr<session::Gateway>> make_gateway();
  void resume();
  bool is_resumed(const agent::OpenEndpoints& what);
  void end_left_at(const std::vector<model::SessionPort>& ports);
  Result<void> open_all(const agent::OpenEndpoints& what);
  Result<void> open_here(session::Forward forward);
  void close_all(const model::SessionRef& ref);
  void used(const std::string& forward);
  void tell_if_used(const agent::OpenEndpoints& what);
  std::optional<agent::KeepNote> take_note(const model::InstanceKey& key);
  session::SessionCallbacks app_callbacks();

  const PoolAccess access_;
  const Tell tell_;
  const AppSockets sockets_;
  InstancePorts ports_;
  std::uint64_t last_forward_ = 0;
  std::map<model::SessionRef, std::vector<std::string>> forwards_;  // their ids
  // Open since an earlier life; the core has not asked for them yet.
  std::map<model::SessionRef, std::vector<model::SessionPort>> left_;
  std::mutex mutex_;
  std::map<std::string, Session> sessions_;                  // by the ids of their forwards
  std::map<model::InstanceKey, agent::KeepNote> unwritten_;  // the newest of each
  shell::Workers notes_;                                     // apart: the disk may be slow
  std::unique_ptr<session::SessionService> service_;
  std::unique_ptr<session::Gateway> gateway_;
};

}  // namespace berth::agentd
