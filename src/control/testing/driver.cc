#include "control/testing/driver.h"

namespace berth::control {

void Driver::tell(std::vector<Event> events) {
  begin();
  first_ = step(std::move(events));
  let_agents_answer();
}

CallId Driver::apply(model::Manifest documents, std::optional<std::uint64_t> if_revision,
                     bool allow_partial) {
  tell({ApplyCall{++last_call_, std::move(documents), if_revision, allow_partial}});
  return last_call_;
}

CallId Driver::erase(const std::string& kind, const std::string& name) {
  tell({DeleteCall{++last_call_, kind, name}});
  return last_call_;
}

CallId Driver::cordon(const std::string& node, Scheduling scheduling) {
  tell({CordonCall{++last_call_, node_id(node), scheduling}});
  return last_call_;
}

CallId Driver::drain(const std::string& node, Duration deadline) {
  tell({DrainCall{++last_call_, node_id(node), "to be replaced", deadline}});
  return last_call_;
}

CallId Driver::forget(const std::string& node) {
  tell({ForgetNodeCall{++last_call_, node_id(node)}});
  return last_call_;
}

CallId Driver::pause(const model::InstanceKey& key, model::Pausing pausing) {
  tell({PauseCall{++last_call_, key, pausing}});
  return last_call_;
}

FakeAgent& Driver::add(const std::string& node, const model::NodeInfo& info) {
  return agents_.try_emplace(node_id(node), info).first->second;
}

void Driver::connect(const std::string& node) {
  const Event connected = open(node);
  tell({connected, reported(node, agent(node).full())});
}

void Driver::join(const std::string& node, const model::NodeInfo& info) {
  add(node, info);
  connect(node);
}

void Driver::disconnect(const std::string& node) {
  const ConnectionId broken = connections_.at(node_id(node));
  connections_.erase(node_id(node));
  tell({NodeDisconnected{node_id(node), broken}});
}

void Driver::report(const std::string& node, model::Report report) {
  tell({reported(node, std::move(report))});
}

void Driver::set(const std::string& node, const model::InstanceKey& key, model::InstanceState state,
                 model::Problem problem) {
  agent(node).set(key, state, std::move(problem));
  report_changes(node);
}

void Driver::become(const std::string& node, const model::NodeInfo& info) {
  agent(node).become(info);
  report_changes(node);
}

void Driver::advance(Duration duration) {
  begin();
  const Time end = now_ + duration;
  do {
    now_ = std::min(end, next_event());
    first_ = step(due_heartbeats());
    let_agents_answer();
  } while (now_ < end);
}

void Driver::restart(Duration absence) {
  now_ += absence;
  if (config_.life != 0) ++config_.life;
  controller_.emplace(config_, disk_);
  connections_.clear();
  published_.clear();
  tell({});
}

void Driver::restart_with(Durable disk) {
  disk_ = std::move(disk);
  restart();
}

CallId Driver::open_session(OpenSessionCall call) {
  call.call = ++last_call_;
  if (call.caller.empty()) call.caller = "tester";
  tell({std::move(call)});
  return last_call_;
}

CallId Driver::close_session(const model::SessionKey& key, std::optional<Duration> grace) {
  tell({CloseSessionCall{++last_call_, key, grace}});
  return last_call_;
}

CallId Driver::release(Release how) {
  tell({ReleaseCall{++last_call_, how}});
  return last_call_;
}

const model::InstanceRecord& Driver::record(const model::InstanceKey& key) const {
  return durable().instances.at(key);
}

Liveness Driver::liveness(const std::string& node) const {
  return controller_->nodes().at(node_id(node)).liveness;
}

std::string Driver::place_of(const model::InstanceKey& key) const {
  const auto& place = record(key).place;
  return place ? model::to_string(*place) : "";
}

std::string Driver::status_of(const model::InstanceKey& key) const {
  const auto statuses = controller_->statuses();
  const auto found = statuses.find(key);
  return found == statuses.end() ? "" : in_words(found->second);
}

std::string Driver::in_words(const model::InstanceStatus& status) {
  std::string words(model::to_string(status.state));
  if (!status.problem.reason.empty()) words += "(" + status.problem.reason + ")";
  return words + (status.unverified ? ", unverified" : "");
}

bool Driver::noted(NoteKind kind, const std::string& about) const {
  return std::ranges::any_of(effects_.notes, [&](const Note& note) {
    return note.kind == kind && (about.empty() || note.about == about);
  });
}

std::vector<model::Command> Driver::commands_to(const std::string& node) const {
  std::vector<model::Command> commands;
  for (const Outgoing& outgoing : effects_.commands) {
    if (outgoing.node == node_id(node)) commands.push_back(outgoing.command);
  }
  return commands;
}

bool Driver::runs(const std::string& node, const model::InstanceKey& key) const {
  const auto& statuses = agents_.at(node_id(node)).statuses;
  const auto status = statuses.find(key);
  return status != statuses.end() && !status->second.prepare_only;
}

bool Driver::is_idle() const {
  return effects_.writes.empty() && effects_.commands.empty() && effects_.replies.empty() &&
         effects_.changes.empty() && effects_.notes.empty();
}

void Driver::begin() {
  effects_ = {};
  steps_.clear();
}

Event Driver::open(const std::string& node) {
  connections_[node_id(node)] = ++last_connection_;
  last_report_[node_id(node)] = now_;
  const auto agent = agents_.find(node_id(node));
  if (agent != agents_.end()) agent->second.pool.connected();
  return NodeConnected{node_id(node), last_connection_};
}

Event Driver::reported(const std::string& node, model::Report report) {
  last_report_[node_id(node)] = now_;
  return NodeReported{node_id(node), connections_.at(node_id(node)), std::move(report)};
}

Effects Driver::step(std::vector<Event> events) {
  Effects effects = controller_->step(now_, events, pace_);
  keep(effects.writes);
  EXPECT_EQ(disk_, durable()) << "disk and memory differ";
  for (const Outgoing& outgoing : effects.commands) check_command(outgoing);
  check_changes(effects.changes);
  check_wake(effects.wake_at);
  collect(effects);
  return effects;
}

void Driver::keep(const std::vector<Write>& writes) {
  for (const Write& write : writes) control::apply(disk_, write);
}

void Driver::collect(const Effects& effects) {
  const auto append = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(effects_.writes, effects.writes);
  append(effects_.commands, effects.commands);
  append(effects_.replies, effects.replies);
  append(effects_.changes, effects.changes);
  append(effects_.notes, effects.notes);
  effects_.wake_at = wake_at_ = effects.wake_at;
  append(undelivered_, effects.commands);
  append(effects_.pool_commands, effects.pool_commands);
  append(effects_.session_replies, effects.session_replies);
  append(effects_.session_changes, effects.session_changes);
  append(undelivered_to_pools_, effects.pool_commands);
  if (effects.tell_when_durable) durable_facts_.push_back(WritesDurable{revision()});
  steps_.emplace_back(now_, effects);
}

void Driver::check_command(const Outgoing& outgoing) {
  const model::Command& command = outgoing.command;
  EXPECT_EQ(outgoing.connection, connections_[outgoing.node]) << "sent into an old stream";
  const auto [last, is_first] = last_numbers_.try_emplace(outgoing.node, command.number);
  EXPECT_LE(last->second, command.number);
  const bool changes_something = !command.run.empty() || !command.stop.empty() || command.network;
  if (command.base && changes_something) {
    EXPECT_FALSE(is_first);
    EXPECT_EQ(*command.base, last->second);
    EXPECT_LT(*command.base, command.number);
  }
  last->second = command.number;
}

void Driver::check_changes(const std::vector<model::InstanceStatus>& changes) {
  for (const model::InstanceStatus& status : changes) {
    const bool gone = status.state == model::InstanceState::Inactive && !status.place &&
                      status.problem.reason.empty();  // else its subject is gone
    const auto known = published_.find(status.key);
    EXPECT_FALSE(known != published_.end() && known->second == status) << "not a change";
    gone ? void(published_.erase(status.key))
         : void(published_.insert_or_assign(status.key, status));
  }
  EXPECT_EQ(published_, controller_->statuses());
}

void Driver::check_wake(const std::optional<Time>& wake_at) {
  if (pace_ == Pace::HeldBack) return;
  const bool may_go_on = config_.placed_at_once != Config{}.placed_at_once;
  if (may_go_on && wake_at && *wake_at <= now_) return;
  EXPECT_GT(wake_at.value_or(kNever), now_);
  const Time before = wake_at ? *wake_at - Duration{1} : now_ + 24h;
  Controller copy = *controller_;
  const Effects effects = copy.step(before, {});
  EXPECT_TRUE(effects.writes.empty() && effects.commands.empty() && effects.replies.empty() &&
              effects.changes.empty() && effects.notes.empty() && effects.pool_commands.empty() &&
              effects.session_replies.empty())
      << "something happened before wake_at: "
      << (effects.notes.empty() ? "nothing to tell" : effects.notes[0].text);
}

void Driver::let_agents_answer() {
  const auto is_quiet = [this] {
    return undelivered_.empty() && undelivered_to_pools_.empty() && durable_facts_.empty();
  };
  for (int answers = 0; !is_quiet(); ++answers) {
    ASSERT_LT(answers, kAnswersMax) << "controller and agents do not come to rest";
    std::vector<Event> reports = std::exchange(durable_facts_, {});
    let_pools_answer(reports);
    for (Outgoing& outgoing : std::exchange(undelivered_, {})) {
      outgoing.command.receipt = {durable().counters.cluster, outgoing.command.number, "sealed",
                                  config_.life};
      const auto connection = connections_.find(outgoing.node);
      const bool open =
          connection != connections_.end() && connection->second == outgoing.connection;
      const auto agent = agents_.find(outgoing.node);
      if (!open || agent == agents_.end() || !agent->second.answers) continue;
      reports.push_back(reported(outgoing.node.value(), agent->second.answer(outgoing.command)));
    }
    if (!reports.empty()) step(std::move(reports));
  }
}

void Driver::let_pools_answer(std::vector<Event>& reports) {
  for (const PoolOutgoing& outgoing : std::exchange(undelivered_to_pools_, {})) {
    const auto connection = connections_.find(outgoing.node);
    const bool open = connection != connections_.end() && connection->second == outgoing.connection;
    const auto agent = agents_.find(outgoing.node);
    if (!open || agent == agents_.end() || !agent->second.answers) continue;
    reports.push_back(reported(outgoing.node.value(), agent->second.answer(outgoing.command)));
  }
}

bool Driver::sends_heartbeats(const model::NodeId& node) const {
  const auto agent = agents_.find(node);
  return agent != agents_.end() && agent->second.answers;
}

Time Driver::next_event() const {
  Time next = wake_at_.value_or(kNever);
  for (const auto& [node, connection] : connections_) {
    if (!sends_heartbeats(node)) continue;
    next = std::min(next, last_report_.at(node) + config_.heartbeat);
  }
  return std::max(next, now_);
}

std::vector<Event> Driver::due_heartbeats() {
  std::vector<Event> events;
  for (const auto& [node, connection] : connections_) {
    if (!sends_heartbeats(node)) continue;
    if (last_report_.at(node) + config_.heartbeat > now_) continue;
    events.push_back(reported(node.value(), agents_.at(node).changes()));
  }
  return events;
}

}  // namespace berth::control
