#include "control/testing/history.h"

namespace berth::control {

void History::pass_time(std::optional<Time> wake_at) {
  const auto dice = random_.below(10);
  if (dice < 4) return;
  if (dice < 6 && wake_at && *wake_at > now_) {
    now_ = *wake_at;
  } else if (dice < 9) {
    now_ += Duration{std::chrono::milliseconds{random_.between(1, 3000)}};
  } else {
    now_ += Duration{std::chrono::seconds{random_.between(3, 70)}};
  }
}

std::vector<Event> History::next_batch() {
  std::vector<Event> batch;
  const auto size = 1 + random_.below(3);
  while (batch.size() < size) add_events(batch);
  return batch;
}

void History::deliver(const std::vector<Outgoing>& commands) {
  for (const Outgoing& outgoing : commands) {
    if (!chance(5)) mail_[outgoing.node].push_back(outgoing);
  }
}

void History::restarted() {
  connections_.clear();
  mail_.clear();
}

std::string History::an_item_id() {
  return std::string(1, static_cast<char>('a' + random_.below(kItems)));
}

model::Item History::an_item() {
  const std::string id = an_item_id();
  ItemBuilder item = is_component(id) ? a_component(id) : a_service(id);
  item.version(a_version()).cpu(random_.between(0, 6) * 100);
  if (!is_component(id)) item.cpu_alert(600, {.min = 20, .max = 40, .timeout = 2s});
  if (chance(20)) item.pinned();
  if (chance(20)) item.stop_first();
  if (chance(30)) item.state(1000);
  if (chance(20)) item.shared("camera");
  if (chance(20)) item.env("mode", a_version());
  if (!is_component(id)) draw_connections(item);
  return item;
}

// Few owners and names, so that they get in each other's way.
void History::draw_connections(ItemBuilder& item) {
  if (chance(40)) item.owner(chance(50) ? "acme" : "beta");
  if (chance(40)) item.port(80);
  if (chance(30)) item.may_reach(an_item_id(), chance(80) ? 80 : 81);
  if (chance(15)) item.host(chance(50) ? "shop.local" : an_item_id());
  if (chance(10)) item.process();
}

model::RunRequest History::a_request() {
  const std::string id = an_item_id();
  RunBuilder run = a_run(id);
  run.version(a_version()).priority(random_.between(0, 2));
  run.times(static_cast<std::uint32_t>(random_.below(4)));
  if (is_component(id) && chance(60)) run.on_all_runtimes();
  if (chance(25)) run.label("edge");
  if (chance(15)) run.on(a_node_id().value());
  return run;
}

Event History::an_apply() {
  ApplyCall call{.call = ++last_call_, .documents = {}, .if_revision = {}};
  if (last_call_ == 1) {
    for (int i = 0; i < 3 * kItems; ++i) call.documents.push_back(an_item());
  }
  if (chance(30)) call.documents.push_back(an_item());
  if (chance(80)) {
    const std::string name = "d-" + std::to_string(random_.below(4));
    applied_[name] = a_deployment(name, {a_request(), a_request()});
    call.documents.push_back(applied_[name]);
  }
  if (chance(30)) {
    std::set<std::string> labels;
    if (chance(60)) labels.insert("edge");
    call.documents.push_back(labels_of(a_node_id().value(), labels));
  }
  if (chance(15)) call.documents.push_back(a_config_of_thresholds());
  call.allow_partial = chance(30);
  if (chance(15)) call.documents.push_back(an_override());
  if (chance(10)) {
    call.documents.push_back(
        model::Subject{.id = model::SubjectId{"default"}, .present = chance(60)});
  }
  return call;
}

Event History::another_extent() {
  auto chosen = applied_.begin();
  std::advance(chosen, random_.below(applied_.size()));
  model::Deployment& deployment = chosen->second;
  ApplyCall call{.call = ++last_call_, .documents = {}, .if_revision = {}};
  model::RunRequest& run = deployment.run[random_.below(deployment.run.size())];
  if (run.instances && *run.instances > 0 && chance(25)) {
    *run.instances -= static_cast<std::uint32_t>(random_.between(1, *run.instances));
  } else if (deployment.run.size() > 1 && chance(10)) {
    deployment.run.pop_back();
  } else if (run.instances && *run.instances < 12 && chance(50)) {
    *run.instances += static_cast<std::uint32_t>(random_.between(1, 3));
  } else if (deployment.run.size() < 10 && chance(60)) {
    model::RunRequest other = a_request();
    other.subject = model::SubjectId{"s-" + std::to_string(last_call_)};
    if (chance(40)) {  // of an item that nobody knew
      model::Item item = an_item();
      item.id = other.item = model::ItemId{"a-" + std::to_string(last_call_)};
      other.version = chance(50) ? "" : item.version;
      if (!other.instances) other.instances = 1;
      call.documents.push_back(item);
    }
    deployment.run.push_back(other);
  }
  call.documents.push_back(deployment);
  return call;
}

model::EnvOverride History::an_override() {
  model::EnvOverride list{.name = "o-" + a_version(), .entries = {}};
  for (std::uint64_t i = random_.below(3); i > 0; --i) {
    model::EnvEntry entry;
    if (chance(70)) entry.item = model::ItemId{an_item_id()};
    if (chance(30)) entry.index = static_cast<std::uint32_t>(random_.below(3));
    std::optional<Duration> expires;
    if (chance(50)) expires = Duration{std::chrono::seconds{random_.between(1, 60)}};
    entry.variables.push_back({.name = "mode", .value = a_version(), .expires = expires});
    list.entries.push_back(std::move(entry));
  }
  return list;
}

Event History::a_deletion() {
  switch (random_.below(5)) {
    case 3: {
      const model::InstanceKey key =
          key_of(an_item_id(), static_cast<std::uint32_t>(random_.below(4)));
      return DeleteCall{++last_call_, "Instance", model::to_string(key)};
    }
    case 4: return DeleteCall{++last_call_, "EnvOverride", "o-" + a_version()};
    case 0: return DeleteCall{++last_call_, "Item", an_item_id() + "@" + a_version()};
    case 1: return DeleteCall{++last_call_, "NodeConfig", "labels-" + a_node_id().value()};
    default: {
      const std::string name = "d-" + std::to_string(random_.below(4));
      return DeleteCall{++last_call_, "Deployment", name};
    }
  }
}

model::NodeConfig History::a_config_of_thresholds() {
  model::NodeConfig config;
  config.name = "thresholds";
  config.thresholds.emplace();
  const auto max = static_cast<std::uint32_t>(random_.between(4, 9) * 10);
  config.thresholds->cpu = model::ThresholdRule{
      .min = chance(30) ? max : max - 10,
      .max = max,
      .timeout = chance(30) ? Duration{} : Duration{random_.between(1, 5) * 1s}};
  return config;
}

Event History::a_call() {
  const auto dice = random_.below(10);
  if (!applied_.empty() && chance(is_calm_ ? 85 : 15)) return another_extent();
  if (chance(10)) {
    return RebalanceCall{++last_call_,
                         chance(30) ? RebalanceScope::Everything : RebalanceScope::Overloaded};
  }
  if (last_call_ > 0 && chance(10)) {
    return PauseCall{++last_call_,
                     key_of(an_item_id(), static_cast<std::uint32_t>(random_.below(3))),
                     chance(60) ? model::Pausing::Paused : model::Pausing::Running};
  }
  if (dice < 6 || last_call_ == 0) return an_apply();
  if (dice < 8) return a_deletion();
  if (dice == 8 && chance(40)) {
    return DrainCall{++last_call_, a_node_id(), "", chance(50) ? Duration{} : Duration{3s}};
  }
  if (dice == 8) {
    return CordonCall{++last_call_, a_node_id(),
                      chance(50) ? Scheduling::Cordoned : Scheduling::Allowed};
  }
  return ForgetNodeCall{++last_call_, a_node_id()};
}

model::NodeInfo History::a_random_node() {
  NodeBuilder info = a_node().cpu(random_.between(4, 12) * 100).with_firmware();
  if (chance(50)) info.runtime("runc", model::RuntimeType::Runc);
  if (chance(30)) info.runtime("process", model::RuntimeType::Process);
  if (chance(80)) info.address("192.168.0." + std::to_string(random_.between(1, 9)));
  if (chance(60)) info.shared("camera", static_cast<std::uint32_t>(random_.between(1, 2)));
  if (chance(10)) info.ready("crun", model::Readiness::NotReady);
  if (chance(10)) info.ready("mcu", model::Readiness::Unknown);
  if (chance(8)) info.state(model::NodeState::Error);
  if (chance(5)) info.state(model::NodeState::Paused);
  return info;
}

void History::change_truth(FakeAgent& agent) {
  if (is_calm_ && chance(70)) {
    agent.usage = a_usage();
    return;
  }
  switch (random_.below(10)) {
    case 0: return agent.become(a_random_node());
    case 1: agent.usage = a_usage(); return;
    case 2: return agent.find(a_stray());
    case 3: agent.starts_slowly = chance(60); return;
    case 4: agent.stops_slowly = chance(60); return;
    case 5:
    case 6: return finish_a_stop(agent);
    default: return change_an_instance(agent);
  }
}

void History::finish_a_stop(FakeAgent& agent) {
  for (const auto& [key, status] : agent.statuses) {
    if (status.stopping) return agent.drop(model::InstanceKey(key));
  }
}

model::ReportedStatus History::a_stray() {
  const std::string id = an_item_id();
  model::ReportedStatus status;
  status.key = key_of(id, static_cast<std::uint32_t>(random_.below(5)));
  status.type = is_component(id) ? model::ItemType::Component : model::ItemType::Service;
  status.version = a_version();
  status.runtime = model::RuntimeId{is_component(id) ? "mcu" : "crun"};
  return status;
}

void History::change_an_instance(FakeAgent& agent) {
  if (agent.statuses.empty()) return;
  auto it = agent.statuses.begin();
  std::advance(it, static_cast<std::ptrdiff_t>(random_.below(agent.statuses.size())));
  const model::InstanceKey key = it->first;
  it->second.usage.cpu = Dmips{random_.between(0, 3) * 100};
  switch (random_.below(7)) {
    case 6: ++it->second.restarts; return agent.set(key, model::InstanceState::Active);
    case 0: return agent.set(key, model::InstanceState::Failed, {"Crashed", "it did"});
    case 1:
      return agent.set(key, model::InstanceState::Failed,
                       {"RuntimeNotReady", "not now", model::Hindrance::RuntimeNotReady});
    case 2: return agent.set(key, model::InstanceState::Inactive);
    case 3: return agent.drop(key);
    default: return agent.set(key, model::InstanceState::Active);
  }
}

void History::open(std::vector<Event>& batch, const model::NodeId& id) {
  connections_[id] = ++last_connection_;
  mail_[id].clear();
  batch.push_back(NodeConnected{id, last_connection_});
  if (chance(90)) say(batch, id, agents_.at(id).full());
}

void History::say(std::vector<Event>& batch, const model::NodeId& id, model::Report report) {
  batch.push_back(NodeReported{id, connections_.at(id), std::move(report)});
}

void History::say_something(std::vector<Event>& batch, const model::NodeId& id, FakeAgent& agent) {
  model::Report report = chance(15) ? agent.full() : agent.changes();
  const auto dice = random_.below(20);
  if (dice == 0) report.revision -= std::min<std::uint64_t>(report.revision, 2);
  if (dice == 1) agent.skip_a_revision();
  if (dice == 2) say(batch, id, report);
  if (dice == 3) return;  // lost
  if (dice == 4 && last_connection_ > 1) {
    batch.push_back(NodeReported{id, connections_.at(id) - 1, report});
    return;
  }
  say(batch, id, std::move(report));
}

void History::read_mail(std::vector<Event>& batch, const model::NodeId& id, FakeAgent& agent) {
  auto& mail = mail_[id];
  if (mail.empty()) return say_something(batch, id, agent);
  const Outgoing outgoing = mail.front();
  mail.erase(mail.begin());
  const model::Report answer = agent.answer(outgoing.command);
  if (!chance(5)) say(batch, id, answer);
}

void History::let_a_node_act(std::vector<Event>& batch) {
  const model::NodeId id = a_node_id();
  FakeAgent& agent = agents_.at(id);
  if (!connections_.contains(id)) {
    if (chance(10)) agent.lose_everything();
    if (chance(60)) open(batch, id);
    return;
  }
  const auto dice = random_.below(100);
  if (dice < 3) return open(batch, id);
  if (dice < 7) {
    batch.push_back(NodeDisconnected{id, connections_.at(id)});
    connections_.erase(id);
    return;
  }
  if (dice < 30) change_truth(agent);
  chance(60) ? read_mail(batch, id, agent) : say_something(batch, id, agent);
}

void History::add_events(std::vector<Event>& batch) {
  const auto dice = random_.below(100);
  if (dice < 12) {
    batch.push_back(a_call());
  } else if (dice < 14) {
    batch.push_back(Subscribed{random_.below(3)});
  } else {
    let_a_node_act(batch);
    if (batch.empty()) batch.push_back(Unsubscribed{random_.below(3)});
  }
}

}  // namespace berth::control
