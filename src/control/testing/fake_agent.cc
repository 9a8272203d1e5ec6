#include "control/testing/fake_agent.h"

namespace berth::control {

model::Report FakeAgent::answer(const model::Command& command) {
  const bool acceptable = command.number > acted && (!command.base || *command.base == acted);
  if (acceptable) carry_out(command);
  if (command.report_told) {
    model::Report report = full();
    report.told.emplace(model::ToldOrders{{}, network});
    for (const auto& [key, spec] : wanted_) report.told->run.push_back(spec);
    return report;
  }
  if (command.report_fully || (acceptable && !command.base)) return full();
  return changes();
}

model::Report FakeAgent::answer(const model::PoolCommand& command) {
  pool.carry_out(command);
  return changes();
}

model::Report FakeAgent::full() {
  clear_changes();
  model::Report report = begin(++revision_);
  report.full = true;
  report.node = info;
  report.receipt = receipt;
  report.pool = pool.take_all();
  for (const auto& [key, status] : statuses) report.instances.push_back(status);
  report.states = std::exchange(saved_, {});
  return report;
}

model::Report FakeAgent::changes() {
  const bool any = node_changed_ || !changed_.empty() || !saved_.empty() || pool.has_news();
  model::Report report = begin(any ? ++revision_ : revision_);
  if (node_changed_) report.node = info;
  if (pool.has_news()) report.pool = pool.take_news();
  for (const model::InstanceKey& key : changed_) {
    const auto known = statuses.find(key);
    known == statuses.end() ? report.gone.push_back(key)
                            : report.instances.push_back(known->second);
  }
  report.states = std::exchange(saved_, {});
  clear_changes();
  return report;
}

void FakeAgent::become(model::NodeInfo node) {
  info = std::move(node);
  node_changed_ = true;
}

void FakeAgent::set(const model::InstanceKey& key, model::InstanceState state,
                    model::Problem problem) {
  statuses.at(key).state = state;
  statuses.at(key).problem = std::move(problem);
  changed_.insert(key);
}

void FakeAgent::finish(const model::InstanceKey& key) {
  set(key, model::InstanceState::Inactive);
  statuses.at(key).finished = true;
  statuses.at(key).exit_code = 0;
}

void FakeAgent::drop(const model::InstanceKey& key) {
  changed_.insert(key);
  statuses.erase(key);
}

void FakeAgent::save_too_large(const model::InstanceKey& key) {
  saved_.push_back({.key = key, .digest = model::SavedState::kTooLarge, .content = {}});
}

void FakeAgent::save(const model::InstanceKey& key, const std::string& content) {
  saved_.push_back({.key = key, .digest = "of-" + content, .content = content});
}

void FakeAgent::find(model::ReportedStatus status) {
  status.state = model::InstanceState::Active;
  changed_.insert(status.key);
  statuses.insert_or_assign(status.key, std::move(status));
}

void FakeAgent::lose_everything() {
  statuses.clear();
  wanted_.clear();
  acted = {};
  receipt.reset();
  network.reset();
  revision_ = 0;
  clear_changes();
}

model::Report FakeAgent::begin(std::uint64_t revision) const {
  model::Report report;
  report.boot_id = "boot";
  report.revision = revision;
  report.acted = acted;
  report.usage = usage;
  return report;
}

void FakeAgent::clear_changes() {
  changed_.clear();
  node_changed_ = false;
}

void FakeAgent::carry_out(const model::Command& command) {
  acted = command.number;
  if (command.receipt) receipt = command.receipt;
  if (command.network) network = command.network;
  for (const model::SavedState& state : command.states) {
    if (state.content.empty()) {
      heard[state.key] = state.digest;
    } else {
      handed[state.key] = state;
    }
  }
  std::set<model::InstanceKey> unwanted(command.stop.begin(), command.stop.end());
  if (!command.base) {
    for (const auto& [key, spec] : wanted_) unwanted.insert(key);
    for (const model::InstanceSpec& spec : command.run) unwanted.erase(spec.key);
    for (const model::InstanceKey& key : command.keep) unwanted.erase(key);
  }
  for (const model::InstanceKey& key : unwanted) stop(key);
  for (const model::InstanceSpec& spec : command.run) run(spec);
  if (!command.base) stop_strangers();
  for (const model::InstanceKey& key : command.erase) erased.insert(key);
}

void FakeAgent::run(const model::InstanceSpec& spec) {
  if (spec.prepare_only && !knows_preparing) return;
  const auto known = wanted_.find(spec.key);
  const bool goes_on =
      known != wanted_.end() ? model::runs_the_same(known->second, spec) : is_already_there(spec);
  wanted_.insert_or_assign(spec.key, spec);
  if (goes_on) return pause_or_resume(spec);
  if (!spec.prepare_only) ++starts[spec.key];
  model::ReportedStatus status;
  status.key = spec.key;
  status.type = spec.item.type;
  status.version = spec.item.version;
  status.runtime = spec.runtime;
  status.state = starts_slowly || spec.prepare_only ? model::InstanceState::Activating
                                                    : model::InstanceState::Active;
  status.prepare_only = spec.prepare_only;
  if (spec.prepare_only && prepares_slowly)
    status.problem = {"Pulling", "", model::Hindrance::BeingFetched};
  if (!spec.prepare_only && broken_versions.contains(status.version)) {
    status.state = model::InstanceState::Failed;
    status.problem = {"StartFailed", "it is broken"};
  }
  statuses.insert_or_assign(spec.key, status);
  variables[spec.key] = spec.item.env;
  changed_.insert(spec.key);
  pause_or_resume(spec);
}

void FakeAgent::pause_or_resume(const model::InstanceSpec& spec) {
  const auto status = statuses.find(spec.key);
  if (status == statuses.end() || !model::is_up(status->second.state)) return;
  const auto state = spec.paused ? model::InstanceState::Paused : model::InstanceState::Active;
  if (std::exchange(status->second.state, state) != state) changed_.insert(spec.key);
}

bool FakeAgent::is_already_there(const model::InstanceSpec& spec) const {
  const auto status = statuses.find(spec.key);
  return status != statuses.end() && !status->second.stopping && !spec.prepare_only &&
         !status->second.prepare_only && status->second.version == spec.item.version;
}

void FakeAgent::stop(const model::InstanceKey& key) {
  wanted_.erase(key);
  const auto status = statuses.find(key);
  if (status == statuses.end()) return;
  changed_.insert(key);
  stops_slowly ? void(status->second.stopping = true) : void(statuses.erase(status));
}

void FakeAgent::stop_strangers() {
  std::set<model::InstanceKey> strangers;
  for (const auto& [key, status] : statuses) {
    const bool is_component = status.type == model::ItemType::Component;
    if (!is_component && !wanted_.contains(key)) strangers.insert(key);
  }
  for (const model::InstanceKey& key : strangers) stop(key);
}

}  // namespace berth::control
