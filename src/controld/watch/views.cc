#include "controld/watch/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "placement/asked.h"

namespace berth::controld {
namespace {

using control::Controller;

void add_measured(InstanceView& view, const Controller& controller) {
  if (!view.status.place) return;
  const auto node = controller.nodes().find(view.status.place->node);
  if (node == controller.nodes().end()) return;
  const auto reported = node->second.reported.find(view.status.key);
  if (reported == node->second.reported.end()) return;
  view.usage = reported->second.usage;
  view.footprint = reported->second.footprint;
}

model::InstanceState state_of(const control::PoolMember& member) {
  using Stage = control::PoolMember::Stage;
  switch (member.stage) {
    case Stage::Asked:
      return member.problem.reason.empty() ? model::InstanceState::Activating
                                           : model::InstanceState::Failed;
    case Stage::Placed:
    case Stage::Starting: return model::InstanceState::Activating;
    case Stage::Running:
    case Stage::Pausing:
    case Stage::Waking:
    case Stage::Terminating: return model::InstanceState::Active;
    case Stage::Standby: return model::InstanceState::Paused;
  }
  return model::InstanceState::Inactive;
}

InstanceView view_of(const control::ApplicationPool& pool, const control::PoolMember& member) {
  InstanceView view;
  view.status.key = member.key;
  if (member.edition.item) view.status.version = member.edition.item->version;
  view.status.state = state_of(member);
  view.status.place = member.place;
  view.status.problem = member.problem;
  view.priority = pool.application ? pool.application->priority : 0;
  view.uid = member.uid;
  return view;
}

std::string in_words(const model::DecisionRecord& decision) {
  return fmt::format("{}, by revision {}", model::to_string(decision), decision.revision);
}

void describe(InstanceView& view, const model::InstanceRecord& record) {
  view.type = record.type;
  view.priority = record.priority;
  view.uid = record.uid;
  view.gid = record.gid;
  view.address = record.address;
  view.to_be_paused = record.paused;
}

std::vector<const model::NodeConfig*> configs_of(const control::Durable& durable) {
  std::vector<const model::NodeConfig*> configs;
  for (const auto& [name, config] : durable.node_configs) configs.push_back(&config);
  return configs;
}

ReadinessView view_of(const Controller& controller, const control::NodeReadiness& readiness,
                      const model::Runtime& runtime) {
  ReadinessView view;
  const auto known = readiness.runtimes.find(runtime.id);
  if (known == readiness.runtimes.end()) return view;
  view.graced = known->second.graced;
  view.evicting = known->second.evicting;
  if (runtime.ready != model::Readiness::Ready) {
    view.not_ready_since = controller.date_of(known->second.not_ready_since);
  }
  return view;
}

void add_readiness(NodeView& view, const Controller& controller,
                   const control::ObservedNode& node) {
  const auto* primary = model::primary_runtime(node.info, node.readiness.have_been_ready());
  if (primary != nullptr) view.primary = primary->id;
  for (const model::Runtime& runtime : node.info.runtimes) {
    view.readiness.push_back(view_of(controller, node.readiness, runtime));
    if (!node.reachable()) view.readiness.back().graced = model::Readiness::Unknown;
  }
  for (const control::Condition& condition : node.readiness.conditions) {
    view.conditions.push_back({condition.type, condition.status, condition.reason,
                               condition.message, controller.date_of(condition.changed)});
  }
  view.heard_at = controller.date_of(node.last_heard);
}

NodeView view_of(const Controller& controller, const model::NodeRecord& record, Time now,
                 const std::vector<const model::NodeConfig*>& configs) {
  const control::ObservedNode& node = controller.nodes().at(record.id);
  NodeView view;
  view.id = record.id;
  view.info = node.info;
  view.cordoned = record.cordoned;
  view.draining = record.drain.has_value();
  view.seen_at = now;
  view.liveness = node.liveness;
  if (!node.reachable()) {
    view.silent_for = std::max(now - node.last_heard, Duration{});
    for (model::Runtime& runtime : view.info.runtimes) {  // what it said last is not known any more
      runtime.ready = model::Readiness::Unknown;
      runtime.reason = "NodeUnreachable";
      runtime.message = "the node is silent";
    }
  }
  view.used = node.usage;
  const control::NodeLoad& load = controller.load_of(record.id);
  view.cpu_load = load.cpu;
  view.ram_load = load.ram;
  view.measurement = node.measurement;
  add_readiness(view, controller, node);
  view.settings = model::settings_for(record.id, view.info.type, configs);
  return view;
}

// Adds what each instance asks that is placed there.
void add_reservations(const Controller& controller, NodeView& view) {
  const control::Durable& durable = controller.durable();
  for (const model::InstanceKey& key : controller.instances_on(view.id)) {
    const model::InstanceRecord& record = durable.instances.at(key);
    if (!record.place || record.place->node != view.id) continue;
    const auto item = durable.items.find({key.item, record.version});
    if (item == durable.items.end()) continue;
    const placement::Amounts asked =
        placement::asked_of(item->second, view.info.capacity, view.settings);
    view.reserved = view.reserved + model::Usage{asked.cpu, asked.ram};
  }
}

// What the node itself still lists counts too: a drain is done when that is nothing that could run.
void count_instances(const Controller& controller, NodeView& view) {
  std::map<model::InstanceKey, bool> must_go;
  const auto is_service = [](model::ItemType type) { return type != model::ItemType::Component; };
  const auto is_here = [&view](const auto& at) { return at && at->node == view.id; };
  for (const model::InstanceKey& key : controller.instances_on(view.id)) {
    const model::InstanceRecord& record = controller.durable().instances.at(key);
    const bool leaves = record.leaving && record.leaving->place.node == view.id;
    if (is_here(record.place) || leaves) must_go[key] = is_service(record.type);
  }
  for (const auto& [key, status] : controller.nodes().at(view.id).reported) {
    must_go[key] = is_service(status.type) && !status.finished;
  }
  for (const auto& [key, must] : must_go) {
    ++view.instances;
    if (must) ++view.services;
  }
}

}  // namespace

InstanceView view_of(const Controller& controller, const model::InstanceStatus& status) {
  InstanceView view;
  view.status = status;
  const auto& records = controller.durable().instances;
  const auto record = records.find(status.key);
  if (record != records.end()) describe(view, record->second);
  const bool is_cached = record == records.end() || record->second.phase == model::Phase::Cached ||
                         record->second.phase == model::Phase::Erasing;
  view.gone = status.state == model::InstanceState::Inactive && !status.place && is_cached;
  add_measured(view, controller);
  const auto& states = controller.durable().states;
  const auto state = states.find(status.key);
  if (state != states.end()) view.state_generation = state->second.state.generation;
  view.names = controller.names_of(status.key);
  const auto* decision = controller.decision_about(status.key);
  if (decision != nullptr) view.decision = in_words(*decision);
  return view;
}

PoolView view_of(const Controller& controller, const model::ApplicationKey& application) {
  using Group = control::Pool::Group;
  PoolView view;
  view.application = application;
  const control::ApplicationPool* found = controller.sessions().pools().find(application);
  view.gone = found == nullptr;
  if (found == nullptr) return view;
  const control::Pool& pool = found->pool;
  view.ready = pool.count(Group::Ready);
  view.pending =
      pool.count(Group::Unplaced) + pool.count(Group::Pending) + pool.count(Group::MakingStandby);
  view.standby = pool.count(Group::Standby);
  view.active = pool.count(Group::Active);
  view.terminating = pool.count(Group::Terminating) + pool.count(Group::Leaving);
  view.waiting = found->waiting;
  view.refusal = found->refusal;
  view.failure = found->failure;
  view.failures = found->failures;
  return view;
}

std::vector<PoolView> pools_of(const Controller& controller) {
  std::vector<PoolView> views;
  for (const auto& [key, pool] : controller.sessions().pools().all()) {
    views.push_back(view_of(controller, key));
  }
  return views;
}

std::vector<InstanceView> pool_instances_of(const Controller& controller) {
  std::vector<InstanceView> views;
  for (const auto& [key, pool] : controller.sessions().pools().all()) {
    for (const auto& [number, member] : pool.pool.members()) {
      views.push_back(view_of(pool, member));
    }
  }
  return views;
}

std::vector<InstanceView> cached_instances_of(const Controller& controller) {
  std::vector<InstanceView> views;
  for (const auto& [key, record] : controller.durable().instances) {
    const bool erasing = record.phase == model::Phase::Erasing;
    if (record.phase != model::Phase::Cached && !erasing) continue;
    InstanceView& view = views.emplace_back();
    view.status = {.key = key, .version = record.version, .place = {}};
    view.status.state = model::InstanceState::Inactive;
    view.status.problem.reason = erasing ? "BeingErased" : "Cached";
    view.kept_for = controller.time_left(key);
    describe(view, record);
  }
  return views;
}

std::vector<InstanceView> instances_of(const Controller& controller) {
  std::vector<InstanceView> views;
  const auto statuses = controller.statuses();
  views.reserve(statuses.size());
  for (const auto& [key, status] : statuses) views.push_back(view_of(controller, status));
  return views;
}

std::vector<InstanceView> instances_of(const Controller& controller,
                                       const std::vector<model::InstanceKey>& keys) {
  std::vector<InstanceView> views;
  for (const model::InstanceKey& key : keys) {
    if (const auto status = controller.status_of(key))
      views.push_back(view_of(controller, *status));
  }
  return views;
}

std::vector<NodeView> nodes_of(const Controller& controller, Time now) {
  const control::Durable& durable = controller.durable();
  const auto configs = configs_of(durable);
  std::vector<NodeView> views;
  views.reserve(durable.nodes.size());
  for (const auto& [id, record] : durable.nodes) {
    NodeView& view = views.emplace_back(view_of(controller, record, now, configs));
    add_reservations(controller, view);
    count_instances(controller, view);
  }
  return views;
}

std::uint64_t revision_of(const Controller& controller) {
  return controller.durable().counters.revision;
}

}  // namespace berth::controld
