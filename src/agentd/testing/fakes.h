#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agentd/daemon.h"
#include "model/protocol.h"
#include "store/memory/memory_store.h"

// A machine, a disk and a control plane that tests hold in their hands. Included by tests only.
namespace berth::agentd::testing {

using Name = std::pair<model::InstanceKey, model::RunId>;

inline constexpr Duration kPatience = 60s;  // of a test: only a failing one waits so long

model::InstanceKey key_of(const std::string& item);
model::InstanceSpec a_spec(const std::string& item, std::int64_t priority = 0);
model::Command a_command(std::uint64_t number, std::vector<model::InstanceSpec> run);

// What runs outlives the agents, and the runtimes that they make.
class FakeMachine {
 public:
  std::unique_ptr<runtime::Runtime> make_runtime(const std::string& name,
                                                 runtime::RunListener& listener);

  // The program ends by itself.
  void end(const std::string& item, std::int32_t exit_code);

  std::vector<std::string> starts() const;  // items, in order
  std::vector<std::string> stops() const;   // items, in order
  std::vector<std::string> forgotten() const;
  std::size_t running() const;
  bool has_runtime(const std::string& name) const;
  void consume(const std::string& item, runtime::Consumption used);

  // Waits until something holds.
  bool wait(const std::function<bool()>& holds);

  std::function<void(const model::InstanceSpec&)> when_started;  // called by the starting thread
  // Called by the probing thread; none: all is well.
  std::function<runtime::ProbeResult(const std::string& runtime)> when_probed;

 private:
  class Runtime;
  struct Run {
    model::FoundRun found;
    std::string runtime;
  };

  mutable std::recursive_mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Name, Run> runs_;
  std::map<model::InstanceKey, runtime::Consumption> used_;
  std::vector<std::string> starts_, stops_, forgotten_;
  std::map<std::string, runtime::RunListener*> listeners_;  // by the names of their runtimes
};

// A store that tests may look into from their own thread, and that can be out of order.
class FakeStore final : public store::Store {
 public:
  Result<void> commit_if(const std::optional<store::Fence>& fence,
                         const std::vector<store::Change>& batch) override;
  Result<std::optional<std::string>> get(std::string_view key) const override;
  Result<std::vector<store::Entry>> list(std::string_view prefix) const override;
  Result<store::Revision> revision() const override;
  Result<std::optional<std::vector<store::Commit>>> changes_since(
      store::Revision revision) const override;

  std::atomic<bool> is_full = false;
  std::atomic<int> refused = 0;

 private:
  mutable std::mutex mutex_;
  store::MemoryDisk disk_;
  store::MemoryStore store_{disk_};
};

// The other end of the link.
class FakeServer {
 public:
  std::function<Link(link::AgentEndListener)> opener();

  void connect();  // with the next number
  void disconnect();
  void say(v1::ToAgent message);
  void say(const model::Command& command);
  void say(const model::PoolCommand& command);

  // Waits for a message that fits, among all that came; nullopt: it did not come.
  using Fits = std::function<bool(const v1::FromAgent&)>;
  std::optional<v1::FromAgent> wait_for(const Fits& fits);
  // The status of an instance, in whatever report.
  bool wait_for_status(const std::string& item,
                       const std::function<bool(const v1::ReportedStatus&)>& fits);
  std::optional<trust::KeyAndCertificate> identity() const;
  bool wait_for_identity();
  // All that was sent on a stream so far.
  std::string data_of(std::uint64_t stream) const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  link::AgentEndListener listener_;
  std::uint64_t connection_ = 0;
  std::vector<v1::FromAgent> received_;
  std::optional<trust::KeyAndCertificate> identity_;
};

// An agent with its thread.
class RunningAgent {
 public:
  RunningAgent(FakeMachine& machine, store::Store& store, FakeServer* server,
               const std::function<void(Config&, Dependencies&)>& change = {});
  ~RunningAgent();  // as SIGTERM does

  Daemon& daemon() const { return *daemon_; }

 private:
  std::unique_ptr<Daemon> daemon_;
  std::thread thread_;
};

}  // namespace berth::agentd::testing
