#include <algorithm>

#include "control/launcher/handover.h"
#include "control/launcher/moves.h"
#include "control/launcher/states.h"
#include "control/passes.h"

namespace berth::control {
namespace {

// What has never run there belongs there no more than anywhere else.
bool may_go_elsewhere(const Context& context, const model::InstanceRecord& record) {
  const auto observed = context.instances.find(record.key);
  if (observed != context.instances.end() && observed->second.is_new_there) return true;
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
  const model::NodeId& source = record.leaving->place.node;
  if (is_given_up(context, source)) return true;
  return context.settled && !may_run_on(context, source, record.key);
}

bool is_exclusive(const model::Item& item, const model::NodeInfo& source) {
  for (const model::SharedResource& shared : source.shared_resources) {
    const bool held =
        std::ranges::find(item.shared_resources, shared.name) != item.shared_resources.end();
    if (held && shared.count == 1) return true;
  }
  const bool keeps_state = item.quotas.state.value_or(Bytes{}) > Bytes{} ||
                           item.request.state.value_or(Bytes{}) > Bytes{};
  return source.partitions.unit_wide && keeps_state;
}

bool must_stop_first(const Context& context, const model::InstanceRecord& record) {
  const auto& items = context.state.durable().items;
  const auto item = items.find({record.key.item, record.version});
  if (item == items.end()) return true;  // we could not tell its agent again to run it
  const ObservedNode* source = context.find_node(record.place->node);
  return item->second.move == model::MovePolicy::StopFirst ||
         is_exclusive(item->second, source->info);
}

}  // namespace

bool is_given_up(const Context& context, const model::NodeId& id) {
  const ObservedNode* node = context.find_node(id);
  return node == nullptr || node->liveness == Liveness::Lost ||
         node->info.state == model::NodeState::Error;
}

const model::ReportedStatus* run_at_its_place(const Context& context,
                                              const model::InstanceRecord& record) {
  if (!record.place) return nullptr;
  const auto* status = reported_on(context, record.place->node, record.key);
  const bool is_this_run = status != nullptr && status->version == record.version &&
                           status->runtime == record.place->runtime && !status->stopping;
  return is_this_run ? status : nullptr;
}

bool is_told(const Context& context, const model::InstanceRecord& record) {
  const ObservedNode* node = context.find_node(record.place->node);
  if (node == nullptr) return false;
  const auto order = node->told.find(record.key);
  if (order == node->told.end()) return false;
  const Told& what = order->second.what;
  const auto edition = context.item_editions.find({record.key.item, record.version});
  const bool is_latest =
      edition == context.item_editions.end() || what.item_edition == edition->second;
  return is_latest && what.version == record.version && what.runtime == record.place->runtime;
}

const model::ReportedStatus* run_as_told(const Context& context,
                                         const model::InstanceRecord& record) {
  const auto* status = run_at_its_place(context, record);
  if (status == nullptr || !is_told(context, record)) return nullptr;
  const ObservedNode& node = *context.find_node(record.place->node);
  return node.acted < node.told.at(record.key).number ? nullptr : status;
}

bool may_run_on(const Context& context, const model::NodeId& id, const model::InstanceKey& key) {
  const ObservedNode* node = context.find_node(id);
  if (node == nullptr) return false;
  // Before its first report we know nothing of what it runs.
  return !node->ever_reported || node->told.contains(key) || node->reported.contains(key) ||
         node->stopping.contains(key);
}

bool is_active_at_its_place(const Context& context, const model::InstanceRecord& record) {
  const auto* status = run_at_its_place(context, record);
  return status != nullptr && model::is_up(status->state);
}

bool start_was_refused(const Context& context, const model::InstanceRecord& record) {
  if (!may_go_elsewhere(context, record)) return false;
  const auto* status = run_at_its_place(context, record);
  return status != nullptr && status->state == model::InstanceState::Failed &&
         (status->problem.reason == "RuntimeNotReady" ||
          status->problem.reason == "StoreNotWritable");
}

std::optional<model::Leaving> leaving_after_move(const Context& context,
                                                 const model::InstanceRecord& record,
                                                 const model::Place& target) {
  const model::NodeId& source = record.place->node;
  // A copy that has not come up yet, or not proven itself, or whose node is gone, is not worth
  // waiting for; the one it should replace is.
  const bool is_settled = is_active_at_its_place(context, record) &&
                          copy_that_serves(context, record) == nullptr &&
                          !is_given_up(context, source);
  if (record.leaving && record.leaving->place.node != target.node && !is_settled) {
    return record.leaving;
  }
  // On one node the agent itself goes from one run to the next.
  if (source == target.node) return std::nullopt;
  if (is_given_up(context, source) || !may_run_on(context, source, record.key)) return std::nullopt;
  return model::Leaving{.place = *record.place,
                        .version = record.version,
                        .image = record.image,
                        .stop_first = must_stop_first(context, record)};
}

const model::ReportedStatus* copy_that_serves(const Context& context,
                                              const model::InstanceRecord& record) {
  if (!record.leaving || record.leaving->stop_first) return nullptr;
  const auto* status = reported_on(context, record.leaving->place.node, record.key);
  const bool serves = status != nullptr && model::is_up(status->state) && !status->stopping &&
                      status->version == record.leaving->version;
  return serves ? status : nullptr;
}

// The source goes when the target has proven itself, or first if it must; once it has been told to,
// it is not called back. It has gone when its node says so.
void handover_pass(Context& context) {
  for (const model::InstanceKey& key : context.dirty.statuses) {
    const auto* known = context.state.find_instance(key);
    if (known == nullptr || !known->leaving) {
      forget_move(context, key);
      continue;
    }
    model::InstanceRecord record = *known;
    if (has_left(context, record)) {
      record.leaving.reset();
    } else if (!record.leaving->stop_first) {
      record.leaving->stop_first = has_arrived(context, record);
    }
    if (!record.leaving || record.leaving->stop_first) forget_move(context, key);
    context.put(record);
    if (is_active_at_its_place(context, record)) pass_state_on(context, record);
  }
}

}  // namespace berth::control
