#include "control/launcher/snapshot.h"

#include <set>

#include "base/check.h"
#include "control/cluster/settings.h"
#include "control/rollout/handover.h"

namespace berth::control {
namespace {

placement::Reachability reachability_of(Liveness liveness) {
  switch (liveness) {
    case Liveness::Reachable: return placement::Reachability::Connected;
    case Liveness::Unknown:
    case Liveness::Unreachable: return placement::Reachability::Unreachable;
    case Liveness::Lost: return placement::Reachability::Lost;
  }
  CHECK(false, "unknown liveness");
}

placement::Drain drain_of(const model::NodeRecord& node) {
  if (!node.drain) return placement::Drain::No;
  return node.drain->overdue ? placement::Drain::Now : placement::Drain::Gently;
}

// A preinstalled component that nobody asked for is none of the plan's business.
bool concerns_plan(const model::InstanceRecord& record, const Requests& requests) {
  return !record.preinstalled || requests.find({record.key.item, record.key.subject}) != nullptr;
}

model::Usage measured(const Context& context, const model::NodeId& id,
                      const model::InstanceKey& key) {
  const ObservedNode* node = context.find_node(id);
  if (node == nullptr) return {};
  const auto status = node->reported.find(key);
  return status == node->reported.end() ? model::Usage{} : status->second.usage;
}

// Whether it goes back to the version that still serves at the place that it was about to leave.
bool goes_back_to_source(const Context& context, const placement::Snapshot& snapshot,
                         const model::InstanceRecord& record) {
  if (!record.leaving || record.leaving->version == record.version) return false;
  const auto planned = snapshot.versions.find({record.key.item, record.key.subject});
  if (planned == snapshot.versions.end()) return false;
  const auto own = planned->second.of.find(record.key.index);
  const std::string& version =
      own == planned->second.of.end() ? planned->second.whole : own->second;
  return version == record.leaving->version && can_go_back(context, record);
}

// What has failed to move, or goes back, is still where it serves.
std::optional<placement::Present> present_of(const Context& context,
                                             const placement::Snapshot& snapshot,
                                             const model::InstanceRecord& record) {
  if (!record.place) return std::nullopt;
  if (context.moves.has_failed(context, record) || goes_back_to_source(context, snapshot, record)) {
    const model::Leaving& source = *record.leaving;
    return placement::Present{
        .place = source.place,
        .version = source.version,
        .measured = measured(context, source.place.node, record.key),
        .finished = false,
        .returning = context.moves.is_returning_to(record.key, source.place.node),
        .untold = false};
  }
  if (start_was_refused(context, record) && !can_go_back(context, record)) return std::nullopt;
  const auto* run = run_at_its_place(context, record);
  return placement::Present{
      .place = *record.place,
      .version = record.version,
      .measured = measured(context, record.place->node, record.key),
      .finished = run != nullptr && run->finished,
      .returning = context.moves.is_returning_to(record.key, record.place->node),
      .untold = record.awaits_room};
}

void add_avoided(const Context& context, placement::Snapshot& snapshot) {
  for (const auto& [key, avoided] : context.moves.avoided()) {
    const auto* record = context.state.find<model::InstanceRecord>(key);
    if (record == nullptr || record->version != avoided.version) continue;
    for (const auto& [node, until] : avoided.until) snapshot.avoided[key].insert(node);
  }
}

// Where the instance has what it cannot take along; nullopt: nowhere, or just where it is.
std::optional<placement::Home> home_of(const Durable& durable,
                                       const model::InstanceRecord& record) {
  const auto kept = durable.states.find(record.key);
  if (kept != durable.states.end() && kept->second.is_behind) {
    return placement::Home{kept->second.node, true};
  }
  if (record.home) return placement::Home{*record.home, false};
  return std::nullopt;
}

// For a view whose `info` is set.
void add_readiness(placement::SnapshotNode& view, const NodeReadiness& readiness,
                   Duration date_of_zero) {
  view.ready = readiness.is_ready();
  view.primary = model::primary_runtime(*view.info, readiness.have_been_ready());
  for (const model::Runtime& runtime : view.info->runtimes) {
    const auto known = readiness.runtimes.find(runtime.id);
    if (known == readiness.runtimes.end()) continue;
    if (known->second.evicting) view.evicting.insert(runtime.id);
    if (runtime.ready == model::Readiness::Ready) continue;
    view.not_ready_since.emplace(runtime.id,
                                 known->second.not_ready_since.time_since_epoch() + date_of_zero);
  }
}

}  // namespace

placement::SnapshotNode view_of(const Context& context, const model::NodeRecord& record,
                                const ObservedNode& node) {
  const NodeLoad& load = context.loads.of(record.id);
  placement::SnapshotNode view{
      .id = record.id,
      .info = &node.info,
      .settings = settings_of(context.state.durable(), record.id, node),
      .reachability = reachability_of(node.liveness),
      .cordoned = record.cordoned,
      .drain = drain_of(record),
      .ready = false,
      .overloaded = {.cpu = load.cpu.is_overloaded(), .ram = load.ram.is_overloaded()},
      .usage = node.usage,
      .system_usage = system_usage_of(node)};
  add_readiness(view, node.readiness, context.config.date_of_zero);
  return view;
}

placement::Snapshot snapshot_of(const Context& context) {
  const Durable& durable = context.state.durable();
  placement::Snapshot snapshot;
  for (const auto& [key, item] : durable.items) snapshot.items.emplace(key, &item);
  for (const auto& [name, deployment] : durable.deployments) {
    snapshot.deployments.push_back(&deployment);
  }
  for (const auto& [id, record] : durable.nodes) {
    snapshot.nodes.push_back(view_of(context, record, context.nodes.at(id)));
  }
  const Requests& requests = context.state.requests();
  for (const auto& [key, rollout] : durable.rollouts) {
    if (requests.find(key) != nullptr)
      snapshot.versions.emplace(key, context.rollouts.versions_of(context, rollout));
  }
  for (const auto& [id, subject] : durable.subjects) {
    if (!subject.present) snapshot.absent.insert(id);
  }
  for (const auto& [key, record] : durable.instances) {
    if (record.own_runtime) snapshot.bound.emplace(key, *record.own_runtime);
    if (!concerns_plan(record, requests)) continue;
    if (record.preinstalled) snapshot.bound.emplace(key, *record.place);
    if (const auto home = home_of(durable, record)) snapshot.homes.emplace(key, *home);
    if (const auto present = present_of(context, snapshot, record)) {
      snapshot.present.emplace_hint(snapshot.present.end(), key, *present);
    }
  }
  context.sessions.pools().add_to(snapshot);
  add_avoided(context, snapshot);
  return snapshot;
}

}  // namespace berth::control
