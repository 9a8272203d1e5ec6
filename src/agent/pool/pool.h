#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agent/context.h"
#include "agent/pool/pool_instance.h"
#include "agent/runtimes.h"
#include "base/alarms.h"
#include "model/pool.h"

namespace berth::agent {

// The pool instances of the node and their sessions. Nothing of it is durable: what was told counts
// while the agent lives, and after that what it finds beside the runs. See docs/adr/0050.
class Pool {
 public:
  // Numbers begin anew.
  void connected() { acted_ = 0; }
  void record(const Context& context, const PoolCommandReceived& event);

  // What runtimes say of pool instances. What is not listed is gone.
  void found(const Context& context, const model::RuntimeId& runtime, const model::FoundRun& run);
  void listed(const Context& context, const model::RuntimeId& runtime,
              const std::set<model::InstanceKey>& running);
  void record(const Context& context, const Prepared& event);
  void record(const Context& context, const PrepareFailed& event);
  void record(const Context& context, const Started& event);
  void record(const Context& context, const StartFailed& event);
  void record(const Context& context, const Exited& event);
  void record(const Context& context, const PausingSet& event);
  void record(const Measured& event);

  // What the shell says of what they need, and their apps of themselves.
  void record(const Context& context, const Furnished& event);
  void record(const Context& context, const AppConnected& event);
  void record(const Context& context, const AppDisconnected& event);
  void record(const Context& context, const AppPinged& event);
  void record(const Context& context, const AppOpened& event);
  void record(const Context& context, const AppClosed& event);
  void record(const Context& context, const AppCounted& event);
  void record(const Context& context, const EndpointsOpened& event);
  void record(const Context& context, const EndpointsClosed& event);
  void record(const Context& context, const EndpointUsed& event);

  // A runtime is not as it was: who waits for one is looked at.
  void look_at_waiting() { looks_at_all_ = true; }
  void decide(const Context& context, const Runtimes& runtimes);
  std::optional<Time> next() const { return alarms_.next(); }

  // --- What is reported.
  bool has_news() const { return must_answer_ || !changed_.empty() || !news_.empty(); }
  model::PoolReport take_news();
  model::PoolReport take_all(Time now);

 private:
  PoolInstance* touch(const model::InstanceKey& key);
  PoolSession* touch(const model::InstanceKey& key, const model::SessionRef& ref);
  PoolSession* touch(const model::InstanceKey& key, const std::string& session);
  void carry_out(const Context& context, const model::StartPoolInstance& order);
  void carry_out(const Context& context, const model::StopPoolInstance& order);
  void carry_out(const Context& context, const model::SetPoolPausing& order);
  void carry_out(const Context& context, const model::OpenSession& order);
  void carry_out(const Context& context, const model::CloseSession& order);
  void decide_about(const Context& context, const Runtimes& runtimes,
                    const model::InstanceKey& key);
  void advance_forwards(const Context& context);
  void tell(Time now, PoolInstance& instance);
  void remember_ended(Time now, const model::ReportedSession& session);
  model::PoolReport begin_report();

  std::map<model::InstanceKey, PoolInstance> instances_;
  std::map<model::InstanceKey, model::ReportedPoolInstance> told_;  // as it was reported last
  // Of instances on other nodes: this one is the gateway. The control plane tells them again to the
  // next life.
  std::map<model::SessionRef, PoolSession> forwards_;
  std::set<model::SessionRef> touched_forwards_;
  std::set<model::InstanceKey> touched_;
  bool looks_at_all_ = false;
  Alarms<model::InstanceKey> alarms_;

  std::uint64_t acted_ = 0;  // of this connection
  bool must_answer_ = false;
  std::map<model::InstanceKey, model::ReportedPoolInstance> changed_;
  std::map<model::SessionRef, model::ReportedSession> news_;
  std::optional<model::Usage> usage_;
  // Whoever did not hear that these ended, because the connection was lost, hears it with the next
  // full report.
  std::deque<std::pair<Time, model::ReportedSession>> ended_;
};

}  // namespace berth::agent
