#include "control/rollout/states.h"

#include <algorithm>

#include "control/context.h"
#include "control/rollout/handover.h"

namespace berth::control {
namespace {

bool is_reported_up(const ObservedNode& node, const model::InstanceKey& key) {
  const auto status = node.reported.find(key);
  return status != node.reported.end() && !status->second.stopping;
}

// What it has said of an earlier run is not about the one that it is told to begin.
bool begins_anew(const ObservedNode& node, const model::InstanceKey& key) {
  const auto order = node.orders->run.find(key);
  return order != node.orders->run.end() && order->second.begins_anew &&
         (order->second.number == model::CommandNumber{} || node.acted < order->second.number);
}

// It was away while the instance ran elsewhere: what it still has is from before that.
bool is_left_over(const ObservedNode& node, const model::StateRecord& kept) {
  return node.acted < kept.since;
}

// What is up there goes on from what it has, unless it is started anew. What has not come up yet
// may never have begun, and is only told: if it has, it goes on all the same.
bool goes_on(const ObservedNode& node, const model::InstanceKey& key, const Order& what) {
  if (!is_reported_up(node, key) || begins_anew(node, key)) return false;
  const model::ReportedStatus& status = node.reported.at(key);
  if (!model::is_up(status.state)) return false;
  return !status.prepare_only && status.version == what.version && status.runtime == what.runtime;
}

// While nothing is kept, whoever runs it may begin, but not the one that has been replaced.
bool may_begin(const Context& context, const model::NodeId& id,
               const model::InstanceRecord& record) {
  if (record.place && record.place->node == id) return true;
  if (record.leaving && record.leaving->place.node == id) {
    return copy_that_serves(context, record) != nullptr || !is_active_at_its_place(context, record);
  }
  return !record.place && may_run_on(context, id, record.key);
}

// What it writes there counts when it has proven itself, and is said again until then.
bool is_on_trial_on(const Context& context, const model::NodeId& id,
                    const model::InstanceRecord& record) {
  return record.place && record.place->node == id && can_go_back(context, record);
}

// It is not there only to be prepared.
bool may_have_begun(const Context& context, const model::NodeId& id,
                    const model::InstanceKey& key) {
  const ObservedNode* node = context.find_node(id);
  if (node == nullptr || !may_run_on(context, id, key)) return false;
  const auto told = node->orders->run.find(key);
  return told == node->orders->run.end() || !told->second.what.prepare_only;
}

// Goes on before anybody heard that it had come: it has begun from what is kept of a node before.
bool leaves_as_the_last(const Context& context, const ObservedNode& node, const model::NodeId& id,
                        const model::InstanceRecord& record, const model::StateRecord& kept) {
  if (!record.leaving || record.leaving->place.node != id || !record.place) return false;
  if (is_only_prepared(record)) return true;  // nobody else can have begun since
  if (kept.node == record.place->node && may_have_begun(context, kept.node, record.key)) {
    return false;
  }
  const auto revoked = node.orders->revoked.find(record.key);
  if (revoked != node.orders->revoked.end()) return !revoked->second.prepare_only;
  const auto told = node.orders->run.find(record.key);
  return told != node.orders->run.end() && !told->second.what.prepare_only;
}

bool counts(const Context& context, const model::NodeId& id, const model::InstanceRecord& record) {
  const ObservedNode& node = *context.find_node(id);
  if (node.info.partitions.unit_wide) return false;  // it is where it is, for all nodes
  const auto* kept = context.state.find<model::StateRecord>(record.key);
  if (kept == nullptr) return may_begin(context, id, record);
  if (kept->node == id || leaves_as_the_last(context, node, id, record, *kept)) return true;
  // One that is left over is handed what is kept, and begins with that.
  return record.place && record.place->node == id && is_reported_up(node, record.key) &&
         !is_left_over(node, *kept);
}

// It may yet be asked to go on there as it is: what it has must not be thought to be known then.
// It says that again until it has been told to stop, or until its word counts.
bool may_go_on_uncounted(const ObservedNode& node, const model::InstanceKey& key,
                         std::span<const model::InstanceKey> gone) {
  return is_reported_up(node, key) && std::ranges::find(gone, key) == gone.end() &&
         !node.info.partitions.unit_wide && !node.orders->stopping.contains(key);
}

// What had this name before was erased. Its last word comes back where a disk has lost what it
// acknowledged: the node itself says that it has acted on nothing since. What is up there says what
// it has, whoever has told it to run.
bool is_of_an_erased_one(const ObservedNode& node, const model::InstanceRecord& record,
                         std::span<const model::InstanceKey> gone) {
  if (node.acted >= record.first_command) return false;
  return !is_reported_up(node, record.key) || std::ranges::find(gone, record.key) != gone.end();
}

void keep(Context& context, model::StateRecord record) {
  const auto* known = context.state.find<model::StateRecord>(record.state.key);
  const model::CounterRecord& counters = context.state.durable().counters;
  const bool is_known_there =
      known != nullptr && (known->node == record.node || record.node.value().empty());
  record.since =
      is_known_there ? known->since : model::CommandNumber{counters.epoch, counters.revision};
  ++record.state.generation;
  context.state.put(record);
}

}  // namespace

void hear_state(Context& context, const model::NodeId& node, const model::SavedState& state,
                std::span<const model::InstanceKey> gone) {
  const auto* record = context.state.find<model::InstanceRecord>(state.key);
  if (record != nullptr && is_on_trial_on(context, node, *record)) return;
  ObservedNode& said_by = context.nodes.at(node);
  const bool is_known = record != nullptr && !is_of_an_erased_one(said_by, *record, gone);
  const bool is_kept = is_known && counts(context, node, *record);
  if (is_known && !is_kept && may_go_on_uncounted(said_by, state.key, gone)) return;
  context.orders.state_heard(node, said_by, state);
  if (!is_kept) return;
  const auto* kept = context.state.find<model::StateRecord>(state.key);
  const bool is_behind = state.digest == model::SavedState::kTooLarge;
  if (kept != nullptr && kept->node == node && kept->is_behind == is_behind &&
      (is_behind || kept->state.digest == state.digest)) {
    return;
  }
  // Of one that stays where it is the last that could go along is kept: it is better than nothing.
  model::StateRecord changed{.state = state, .node = node, .is_behind = is_behind};
  if (is_behind)
    changed.state = kept == nullptr ? model::SavedState{.key = state.key} : kept->state;
  changed.state.generation = kept == nullptr ? 0 : kept->state.generation;
  keep(context, std::move(changed));
}

void pass_state_on(Context& context, const model::InstanceRecord& record) {
  if (!can_go_back(context, record)) trust_state(context, record);
}

void trust_state(Context& context, const model::InstanceRecord& record) {
  const auto* kept = context.state.find<model::StateRecord>(record.key);
  if (kept == nullptr || kept->node == record.place->node) return;
  model::StateRecord changed = *kept;
  changed.node = record.place->node;
  changed.is_behind = false;
  keep(context, std::move(changed));
}

void forget_states_on(Context& context, const model::NodeId& node) {
  for (const model::InstanceKey& key : context.state.instances_on(node)) {
    const auto* kept = context.state.find<model::StateRecord>(key);
    if (kept == nullptr || kept->node != node) continue;
    model::StateRecord changed = *kept;
    changed.node = model::NodeId{};
    changed.is_behind = false;
    keep(context, std::move(changed));
  }
}

std::optional<model::SavedState> state_for(const Context& context, const model::NodeId& node,
                                           const model::InstanceKey& key, const Order& what) {
  const auto* kept = context.state.find<model::StateRecord>(key);
  const bool is_there = kept != nullptr && kept->node == node;
  if (kept == nullptr || is_there || kept->state.digest.empty()) return std::nullopt;
  if (what.prepare_only) return std::nullopt;  // it comes with the order to start
  const ObservedNode& target = *context.find_node(node);
  if (target.info.partitions.unit_wide) return std::nullopt;
  if (goes_on(target, key, what) && !is_left_over(target, *kept)) return std::nullopt;
  return kept->state;
}

}  // namespace berth::control
