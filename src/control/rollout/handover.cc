#include "control/rollout/handover.h"

#include <algorithm>

#include "control/context.h"
#include "control/rollout/states.h"

namespace berth::control {
namespace {

// What has never run there belongs there no more than anywhere else.
bool may_go_elsewhere(const Context& context, const model::InstanceRecord& record) {
  if (context.statuses.is_new_there(record.key)) return true;
  const auto& items = context.state.durable().items;
  const auto item = items.find({record.key.item, record.version});
  return item != items.end() && item->second.type == model::ItemType::Service &&
         !model::is_pinned(item->second);
}

const model::ReportedStatus* reported_on(const Context& context, const model::NodeId& id,
                                         const model::InstanceKey& key) {
  const ObservedNode* node = context.find_node(id);
  if (node == nullptr) return nullptr;
  const auto status = node->reported.find(key);
  return status == node->reported.end() ? nullptr : &status->second;
}

bool has_left(const Context& context, const model::InstanceRecord& record) {
  return context.reachability.settled() &&
         !may_run_on(context, record.leaving->place.node, record.key);
}

bool is_exclusive(const model::Item& item, const model::NodeInfo& source) {
  for (const model::SharedResource& shared : source.shared_resources) {
    const bool held =
        std::ranges::find(item.shared_resources, shared.name) != item.shared_resources.end();
    if (held && shared.count == 1) return true;
  }
  return source.partitions.unit_wide && model::keeps_state(item);
}

// Then what is left there is stopped.
bool is_drain_overdue(const Context& context, const model::NodeId& id) {
  const auto& nodes = context.state.durable().nodes;
  const auto node = nodes.find(id);
  return node != nodes.end() && node->second.drain && node->second.drain->overdue;
}

// What has failed serves nobody, whatever it still says.
bool can_serve(const ObservedNode& node, const model::RuntimeId& runtime) {
  return node.info.state == model::NodeState::Provisioned &&
         model::find_runtime(node.info, runtime) != nullptr;
}

bool is_evicted(const ObservedNode& node, const model::RuntimeId& runtime) {
  const auto known = node.readiness.runtimes.find(runtime);
  return known != node.readiness.runtimes.end() && known->second.evicting;
}

model::Leaving stopped_first(const model::InstanceRecord& record) {
  return {
      .place = *record.place, .version = record.version, .image = record.image, .stop_first = true};
}

// How it leaves the place where it is.
model::Leaving leaving_its_place(const Context& context, const model::InstanceRecord& record) {
  model::Leaving leaving = stopped_first(record);
  if (is_drain_overdue(context, record.place->node)) return leaving;
  const auto& items = context.state.durable().items;
  const auto item = items.find({record.key.item, record.version});
  if (item == items.end()) return leaving;  // we could not tell its agent again to run it
  const ObservedNode& source = *context.find_node(record.place->node);
  if (!can_serve(source, record.place->runtime)) return leaving;
  leaving.hand_over =
      model::hands_state_over(item->second) || is_evicted(source, record.place->runtime);
  leaving.stop_first = !leaving.hand_over && (item->second.move == model::MovePolicy::StopFirst ||
                                              is_exclusive(item->second, source.info));
  return leaving;
}

// Whether nothing serves where it leaves, by the word of its node.
bool is_down_at_source(const Context& context, const model::InstanceRecord& record) {
  const ObservedNode& node = *context.find_node(record.leaving->place.node);
  return node.ever_reported && copy_that_serves(context, record) == nullptr;
}

// What is known of a copy that the node has, or is about to stop.
struct Copy {
  model::RuntimeId runtime;
  std::string version;
};

std::optional<Copy> find_copy(const ObservedNode& node, const model::InstanceKey& key) {
  const auto status = node.reported.find(key);
  if (status != node.reported.end()) {
    const bool is_run = status->second.type != model::ItemType::Component;
    if (!is_run || status->second.version.empty()) return std::nullopt;  // or only being erased
    return Copy{status->second.runtime, status->second.version};
  }
  const auto revoked = node.orders->revoked.find(key);
  if (revoked == node.orders->revoked.end()) return std::nullopt;
  return Copy{revoked->second.runtime, revoked->second.version};
}

}  // namespace

bool is_given_up(const Context& context, const model::NodeId& id) {
  const ObservedNode* node = context.find_node(id);
  return node == nullptr || node->liveness == Liveness::Lost;
}

bool is_failed_node(const Context& context, const model::NodeId& id) {
  return is_given_up(context, id) ||
         context.find_node(id)->info.state != model::NodeState::Provisioned;
}

bool is_only_prepared(const model::InstanceRecord& record) {
  return record.leaving && record.leaving->hand_over && !record.leaving->empty;
}

// An agent of an earlier release says nothing of what it is only to prepare: there is nothing that
// could be waited for.
bool is_prepared(const Context& context, const model::InstanceRecord& record) {
  const ObservedNode* node = context.find_node(record.place->node);
  if (node == nullptr || !is_told(context, record)) return false;
  const GivenOrder& order = node->orders->run.at(record.key);
  if (!order.what.prepare_only || node->acted < order.number) return false;
  const auto* status = reported_on(context, record.place->node, record.key);
  if (status == nullptr) return true;
  return status->prepare_only && status->version == record.version &&
         status->state == model::InstanceState::Activating && status->problem.reason.empty();
}

bool serves_on_trial(const Context& context, const model::InstanceRecord& record) {
  return record.leaving && record.leaving->empty && is_active_at_its_place(context, record) &&
         context.moves.why_it_failed(record.key) == nullptr &&
         !is_given_up(context, record.place->node);
}

bool can_go_back(const Context& context, const model::InstanceRecord& record) {
  const auto& leaving = record.leaving;
  return copy_that_serves(context, record) != nullptr ||
         (leaving && leaving->hand_over && !is_given_up(context, leaving->place.node));
}

const model::ReportedStatus* run_at_its_place(const Context& context,
                                              const model::InstanceRecord& record) {
  if (!record.place) return nullptr;
  const auto* status = reported_on(context, record.place->node, record.key);
  const bool is_this_run = status != nullptr && status->version == record.version &&
                           status->runtime == record.place->runtime && !status->stopping;
  return is_this_run ? status : nullptr;
}

bool is_as_decided(const Context& context, const model::InstanceRecord& record, const Order& what) {
  // Nobody has edited it since the start: whoever is told was told that one.
  const std::uint64_t edition = context.documents.edition_of({record.key.item, record.version});
  const bool is_latest = edition == 0 || what.item_edition == edition;
  return is_latest && what.version == record.version && what.runtime == record.place->runtime;
}

bool is_told(const Context& context, const model::InstanceRecord& record) {
  const ObservedNode* node = context.find_node(record.place->node);
  if (node == nullptr) return false;
  const auto order = node->orders->run.find(record.key);
  return order != node->orders->run.end() && is_as_decided(context, record, order->second.what);
}

const model::ReportedStatus* run_as_told(const Context& context,
                                         const model::InstanceRecord& record) {
  const auto* status = run_at_its_place(context, record);
  if (status == nullptr || !is_told(context, record)) return nullptr;
  const ObservedNode& node = *context.find_node(record.place->node);
  return node.acted < node.orders->run.at(record.key).number ? nullptr : status;
}

bool may_run_on(const Context& context, const model::NodeId& id, const model::InstanceKey& key) {
  const ObservedNode* node = context.find_node(id);
  if (node == nullptr) return false;
  // Before its first report we know nothing of what it runs.
  return !node->ever_reported || node->orders->run.contains(key) || node->reported.contains(key) ||
         node->orders->stopping.contains(key);
}

bool is_active_at_its_place(const Context& context, const model::InstanceRecord& record) {
  const auto* status = run_at_its_place(context, record);
  return status != nullptr && model::is_up(status->state);
}

bool start_was_refused(const Context& context, const model::InstanceRecord& record) {
  if (!may_go_elsewhere(context, record)) return false;
  const auto* status = run_at_its_place(context, record);
  return status != nullptr && status->state == model::InstanceState::Failed &&
         (status->problem.hindrance == model::Hindrance::RuntimeNotReady ||
          status->problem.hindrance == model::Hindrance::StoreNotWritable);
}

std::optional<model::Leaving> begin_to_leave(Context& context, const model::InstanceRecord& record,
                                             const model::Place& target,
                                             const std::string& version) {
  const auto& before = record.leaving;
  if (is_only_prepared(record)) {
    return before->place.node == target.node ? std::nullopt : before;
  }
  const model::NodeId& source = record.place->node;
  if (before && before->empty) {
    if (source == target.node) return before;
    const bool takes_version_back = version == before->version && version != record.version;
    if (takes_version_back || !serves_on_trial(context, record)) return stopped_first(record);
    trust_state(context, record);
    return leaving_its_place(context, record);
  }
  // A copy that has not come up yet, or not proven itself, or whose node is gone, is not worth
  // waiting for; the one it should replace is.
  const bool is_settled = is_active_at_its_place(context, record) &&
                          copy_that_serves(context, record) == nullptr &&
                          !is_given_up(context, source);
  if (before && before->place.node != target.node && !is_settled) return before;
  // On one node the agent itself goes from one run to the next.
  if (source == target.node) return std::nullopt;
  if (is_given_up(context, source) || !may_run_on(context, source, record.key)) return std::nullopt;
  const model::Leaving leaving = leaving_its_place(context, record);
  // Where it has never been told to stop it goes on as it is: to have that copy prepared for what
  // this one has to hand over would stop the one that serves.
  const bool runs_there = before && before->place.node == target.node && !before->stop_first;
  return runs_there && leaving.hand_over ? stopped_first(record) : leaving;
}

std::optional<model::Leaving> leaving_from_home(const Context& context,
                                                const model::InstanceRecord& record,
                                                const model::Place& target) {
  if (!record.home || *record.home == target.node) return std::nullopt;
  if (is_given_up(context, *record.home)) return std::nullopt;
  const auto copy = find_copy(*context.find_node(*record.home), record.key);
  if (!copy) return std::nullopt;
  return model::Leaving{
      .place = {*record.home, copy->runtime}, .version = copy->version, .stop_first = true};
}

const model::ReportedStatus* copy_that_serves(const Context& context,
                                              const model::InstanceRecord& record) {
  if (!record.leaving || record.leaving->stop_first) return nullptr;
  const auto* status = reported_on(context, record.leaving->place.node, record.key);
  const bool serves = status != nullptr && model::is_up(status->state) && !status->stopping &&
                      status->version == record.leaving->version &&
                      !is_failed_node(context, record.leaving->place.node);
  return serves ? status : nullptr;
}

namespace {

// When the other one has proven itself; or, to hand over, when all is prepared for it. At once, if
// nothing can serve here any more.
bool may_stop(Context& context, const model::InstanceRecord& record) {
  const model::Place& source = record.leaving->place;
  if (!can_serve(*context.find_node(source.node), source.runtime)) return true;
  if (!record.leaving->hand_over) return context.moves.has_arrived(context, record);
  context.moves.watch(context, record);
  return is_prepared(context, record) || is_down_at_source(context, record);
}

// What the record says of the place it leaves, one step further.
std::optional<model::Leaving> next_leaving(Context& context, const model::InstanceRecord& record) {
  model::Leaving leaving = *record.leaving;
  if (is_given_up(context, leaving.place.node)) return std::nullopt;
  if (leaving.empty)
    return context.moves.has_arrived(context, record) ? std::nullopt : record.leaving;
  if (has_left(context, record)) {
    if (!leaving.hand_over) return std::nullopt;
    leaving.stop_first = leaving.empty = true;
  } else if (!leaving.stop_first) {
    leaving.stop_first = may_stop(context, record);
  }
  return leaving;
}

// While the source is stopping there is nothing to be watched.
bool is_watched(const model::InstanceRecord& record) {
  return record.leaving && (record.leaving->empty || !record.leaving->stop_first);
}

}  // namespace

// The source goes when the target has proven itself, or first if it must; once it has been told to,
// it is not called back. It has gone when its node says so. One that hands over goes when the
// target is prepared, and is forgotten when that has proven itself.
void hand_over(Context& context) {
  for (const model::InstanceKey& key : context.changes.instances) {
    const auto* known = context.state.find<model::InstanceRecord>(key);
    if (known == nullptr || !known->leaving) {
      context.moves.end(key);
      continue;
    }
    model::InstanceRecord record = *known;
    record.leaving = next_leaving(context, *known);
    const bool has_just_left = record.leaving && record.leaving->empty && !known->leaving->empty;
    if (has_just_left || !is_watched(record)) context.moves.end(key);
    context.put(record);
    if (has_just_left) context.moves.watch(context, record);
    if (is_active_at_its_place(context, record)) pass_state_on(context, record);
  }
}

}  // namespace berth::control
