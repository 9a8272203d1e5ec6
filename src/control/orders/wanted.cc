#include "control/orders/wanted.h"

#include "base/check.h"
#include "control/context.h"
#include "control/documents/overrides.h"
#include "control/rollout/handover.h"
#include "control/rollout/rollouts.h"

namespace berth::control {
namespace {

// Whether it is there to stay, not on its way out from an earlier time.
bool runs_there(const ObservedNode& node, const model::InstanceKey& key) {
  const auto status = node.reported.find(key);
  return status != node.reported.end() && !status->second.stopping &&
         !status->second.prepare_only && !node.orders->stopping.contains(key);
}

bool is_told_to_run(const ObservedNode& node, const model::InstanceKey& key) {
  const auto order = node.orders->run.find(key);
  return order != node.orders->run.end() && !order->second.what.prepare_only;
}

// One that must stop first starts only when the old copy has gone, unless it was begun before.
bool waits_for_source(const Context& context, const model::InstanceRecord& record) {
  if (!record.leaving || !record.leaving->stop_first || record.leaving->hand_over) return false;
  const ObservedNode* target = context.find_node(record.place->node);
  return !is_told_to_run(*target, record.key) && !runs_there(*target, record.key);
}

bool waits_for_network(const Context& context, const model::InstanceKey& key) {
  return context.network.is_retiring(key) || context.network.has_problem(key);
}

std::optional<Order> at_its_place(const Context& context, const model::InstanceRecord& record) {
  if (waits_for_source(context, record) || waits_for_network(context, record.key)) {
    return std::nullopt;
  }
  return Order{.version = record.version,
               .item_edition = context.documents.edition_of({record.key.item, record.version}),
               .image = record.image,
               .runtime = record.place->runtime,
               .priority = record.priority,
               .network = context.network.network_at(context, record.key, record.place->node,
                                                     record.version, record.image),
               .variables = variables_of(context.state.durable(), record.key),
               .paused = record.paused && !is_on_trial(context.state.durable(), record),
               .prepare_only = is_only_prepared(record)};
}

// It serves until its successor does: what would restart it concerns that one only.
void keep_what_it_runs(const Context& context, const model::InstanceRecord& record, Order& told) {
  const ObservedNode* node = context.find_node(record.leaving->place.node);
  if (node == nullptr) return;
  const auto order = node->orders->run.find(record.key);
  if (order == node->orders->run.end() || order->second.what.version != told.version) return;
  told.item_edition = order->second.what.item_edition;
  told.variables = order->second.what.variables;
}

std::optional<Order> where_it_leaves(const Context& context, const model::InstanceRecord& record) {
  const model::Leaving& leaving = *record.leaving;
  const bool known = context.state.durable().items.contains({record.key.item, leaving.version});
  const bool must_stop = leaving.stop_first || context.network.is_retiring(record.key);
  if (must_stop || !known) return std::nullopt;
  Order told{.version = leaving.version,
             .item_edition = context.documents.edition_of({record.key.item, leaving.version}),
             .image = leaving.image,
             .runtime = leaving.place.runtime,
             .priority = record.priority,
             .network = context.network.network_at(context, record.key, leaving.place.node,
                                                   leaving.version, leaving.image),
             .variables = variables_of(context.state.durable(), record.key),
             .paused = record.paused};
  keep_what_it_runs(context, record, told);
  return told;
}

}  // namespace

std::optional<Order> wanted_on(const Context& context, const model::NodeId& node,
                               const model::InstanceKey& key) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr || record->preinstalled) return std::nullopt;
  if (record->place && record->place->node == node) return at_its_place(context, *record);
  if (record->leaving && record->leaving->place.node == node) {
    return where_it_leaves(context, *record);
  }
  return std::nullopt;
}

const model::Item* find_former(const Context& context, const model::InstanceKey& key,
                               const Order& told) {
  return context.documents.find_former({key.item, told.version}, told.item_edition);
}

model::InstanceSpec spec_of(const Context& context, const model::InstanceKey& key,
                            const Order& told) {
  const auto& items = context.state.durable().items;
  const auto item = items.find({key.item, told.version});
  const auto* record = context.state.find<model::InstanceRecord>(key);
  CHECK(item != items.end() && record != nullptr, "only known items are told to agents");
  const model::Item* former = find_former(context, key, told);
  model::InstanceSpec spec{.key = key,
                           .item = former == nullptr ? item->second : *former,
                           .image = told.image,
                           .runtime = told.runtime,
                           .priority = told.priority,
                           .uid = record->uid,
                           .gid = record->gid,
                           .network = told.network,
                           .paused = told.paused,
                           .prepare_only = told.prepare_only};
  for (const auto& [name, value] : told.variables) spec.item.env.insert_or_assign(name, value);
  return spec;
}

}  // namespace berth::control
