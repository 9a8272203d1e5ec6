#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control/controller.h"
#include "control/tables.h"
#include "control/testing/builders.h"
#include "control/testing/fake_agent.h"

namespace berth::control {

// A controller with its clock, its disk and its agents. Each verb is one step of the controller,
// then whatever the agents answer, until all is quiet; `effects()` are those of the whole, and
// `first()` those of the first step. After every step the promises that hold always are checked.
class Driver {
 public:
  explicit Driver(Config config = {}, Durable restored = {}) : config_(config), disk_(restored) {
    controller_.emplace(config_, std::move(restored));
    tell({});
  }

  // --- Verbs.

  void tell(std::vector<Event> events);

  CallId apply(model::Manifest documents, std::optional<std::uint64_t> if_revision = {},
               bool allow_partial = false);
  CallId erase(const std::string& kind, const std::string& name);
  CallId cordon(const std::string& node, Scheduling scheduling = Scheduling::Cordoned);
  CallId drain(const std::string& node, Duration deadline = {});
  CallId forget(const std::string& node);
  CallId open_session(OpenSessionCall call);
  CallId close_session(const model::SessionKey& key, std::optional<Duration> grace = {});
  CallId pause(const model::InstanceKey& key, model::Pausing pausing = model::Pausing::Paused);

  FakeAgent& add(const std::string& node, const model::NodeInfo& info = a_node());
  // A connection and the full report that follows it, in one step.
  void connect(const std::string& node);
  void join(const std::string& node, const model::NodeInfo& info = a_node());
  void connect_silently(const std::string& node) { tell({open(node)}); }
  void disconnect(const std::string& node);

  void report(const std::string& node, model::Report report);
  void report_changes(const std::string& node) { report(node, agent(node).changes()); }
  void report_fully(const std::string& node) { report(node, agent(node).full()); }
  void heartbeat(const std::string& node) { report_changes(node); }
  void set(const std::string& node, const model::InstanceKey& key, model::InstanceState state,
           model::Problem problem = {});
  void become(const std::string& node, const model::NodeInfo& info);

  // From now on.
  void set_pace(Pace pace) { pace_ = pace; }

  // Time passes. Connected agents that answer send their heartbeats; the controller is woken when
  // it wants to be, and at the end.
  void advance(Duration duration);

  // The controller dies and starts again from its disk, perhaps after a while; every stream breaks.
  void restart(Duration absence = {});
  // Before a restart: it is stopped in good order, and does not just die.
  void stop() { keep(controller_->last_writes(now_)); }
  // From the next restart on, the date of the machine is another.
  void set_date_of_zero(Duration date) { config_.date_of_zero = date; }
  // From another disk.
  void restart_with(Durable disk);

  CallId release(Release how);

  // --- Answers.

  const Effects& effects() const { return effects_; }
  const Effects& first() const { return first_; }
  // Of the last verb, each with its time.
  const std::vector<std::pair<Time, Effects>>& steps() const { return steps_; }
  Time now() const { return now_; }
  const Controller& controller() const { return *controller_; }
  const Durable& durable() const { return controller_->durable(); }
  FakeAgent& agent(const std::string& node) { return agents_.at(node_id(node)); }
  ConnectionId connection(const std::string& node) const { return connections_.at(node_id(node)); }
  bool is_connected(const std::string& node) const { return connections_.contains(node_id(node)); }
  CallId last_call() const { return last_call_; }
  std::uint64_t revision() const { return durable().counters.revision; }

  const model::InstanceRecord& record(const model::InstanceKey& key) const;
  Liveness liveness(const std::string& node) const;
  // "n1/crun"; empty if it has no place.
  std::string place_of(const model::InstanceKey& key) const;
  // "active", "failed(NodeLost)", "active, unverified"; empty if nobody asks for it.
  std::string status_of(const model::InstanceKey& key) const;
  static std::string in_words(const model::InstanceStatus& status);

  bool noted(NoteKind kind, const std::string& about = "") const;
  std::vector<model::Command> commands_to(const std::string& node) const;
  bool runs(const std::string& node, const model::InstanceKey& key) const;
  template <class Answer>
  std::optional<Answer> reply_to(CallId call) const {
    for (const Reply& reply : effects_.replies) {
      const auto* answer = std::get_if<Answer>(&reply.answer);
      if (reply.call == call && answer != nullptr) return *answer;
    }
    return std::nullopt;
  }
  bool is_idle() const;
  template <class Answer>
  std::optional<Answer> session_reply_to(CallId call) const {
    for (const SessionReply& reply : effects_.session_replies) {
      const auto* answer = std::get_if<Answer>(&reply.answer);
      if (reply.call == call && answer != nullptr) return *answer;
    }
    return std::nullopt;
  }

 private:
  static constexpr int kAnswersMax = 200;

  void begin();

  Event open(const std::string& node);
  Event reported(const std::string& node, model::Report report);

  Effects step(std::vector<Event> events);

  void collect(const Effects& effects);

  // Numbers grow, and a partial command builds on the one before.
  void check_command(const Outgoing& outgoing);

  // Who listens from the beginning knows all statuses.
  void check_changes(const std::vector<model::InstanceStatus>& changes);

  // Until the controller wants to be woken, nothing happens by itself.
  void check_wake(const std::optional<Time>& wake_at);

  void let_agents_answer();
  void let_pools_answer(std::vector<Event>& reports);

  bool sends_heartbeats(const model::NodeId& node) const;

  // What a store would hold after the writes.
  void keep(const std::vector<Write>& writes);

  Time next_event() const;

  std::vector<Event> due_heartbeats();

  Pace pace_ = Pace::GoOn;
  Config config_;
  Durable disk_;
  std::optional<Controller> controller_;
  Time now_ = Time{} + 1000s;
  std::optional<Time> wake_at_;
  std::map<model::NodeId, FakeAgent> agents_;
  std::map<model::NodeId, ConnectionId> connections_;
  std::map<model::NodeId, Time> last_report_;
  std::map<model::NodeId, model::CommandNumber> last_numbers_;
  std::map<model::InstanceKey, model::InstanceStatus> published_;
  std::vector<Outgoing> undelivered_;
  std::vector<PoolOutgoing> undelivered_to_pools_;
  std::vector<Event> durable_facts_;  // to be told with the next step
  Effects effects_;
  Effects first_;
  std::vector<std::pair<Time, Effects>> steps_;
  ConnectionId last_connection_ = 0;
  CallId last_call_ = 0;
};

}  // namespace berth::control
