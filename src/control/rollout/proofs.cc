#include "control/rollout/proofs.h"

#include "control/context.h"
#include "control/rollout/handover.h"
#include "control/rollout/rollouts.h"

namespace berth::control {
namespace {

using model::InstanceState;

const model::Item* item_of(const Context& context, const model::InstanceRecord& record) {
  const auto& items = context.state.durable().items;
  const auto item = items.find({record.key.item, record.version});
  return item == items.end() ? nullptr : &item->second;
}

// A run that is up, or has done its work, and the order that it is by.
struct Counted {
  const model::ReportedStatus* run;
  model::CommandNumber order;
};

// What it shall run for good: as it was told last, or what it keeps because the rest went wrong, or
// what was there before us. This is asked for every status of every node: each table is looked into
// once.
std::optional<Counted> run_that_counts(const Context& context,
                                       const model::InstanceRecord& record) {
  const ObservedNode* node = context.find_node(record.place->node);
  if (node == nullptr || !node->reachable()) return std::nullopt;
  const auto found = node->reported.find(record.key);
  if (found == node->reported.end()) return std::nullopt;
  const model::ReportedStatus& run = found->second;
  const bool is_well =
      model::is_up(run.state) || (run.state == InstanceState::Inactive && run.finished);
  const bool is_this_run =
      run.version == record.version && !run.stopping && run.runtime == record.place->runtime;
  if (!is_well || !is_this_run) return std::nullopt;
  const auto told = node->orders->run.find(record.key);
  const bool is_told = told != node->orders->run.end();
  const bool has_acted = is_told && node->acted >= told->second.number &&
                         is_as_decided(context, record, told->second.what);
  if (!has_acted && !record.preinstalled && !why_it_is_behind(context, record)) return std::nullopt;
  return Counted{&run, is_told ? told->second.number : model::CommandNumber{}};
}

// One with a health check is not active before that has passed; one that stands still by order came
// up before.
bool needs_no_time(const Context& context, const model::InstanceRecord& record,
                   const model::ReportedStatus& run) {
  if (run.state != InstanceState::Active) return true;
  const model::Item* item = item_of(context, record);
  return item != nullptr && item->health.has_value();
}

}  // namespace

Duration min_healthy_of(const Context& context, const model::InstanceRecord& record) {
  const model::Item* item = item_of(context, record);
  const auto own = item == nullptr ? std::nullopt : item->min_healthy;
  return bounded(own.value_or(context.config.min_healthy));
}

void look_at_proof(Context& context, const model::InstanceRecord* record,
                   std::optional<Proof>& proof) {
  const bool is_placed = record != nullptr && record->place;
  const auto counted = is_placed ? run_that_counts(context, *record) : std::nullopt;
  if (!counted) return proof.reset();
  const std::uint32_t restarts = counted->run->restarts;
  if (!proof || proof->order != counted->order || proof->restarts != restarts) {
    proof = Proof{.order = counted->order, .restarts = restarts, .active_since = context.now};
  }
  proof->done = proof->done || needs_no_time(context, *record, *counted->run) ||
                context.statuses.has_been_active_since(context, *record, proof->active_since);
}

}  // namespace berth::control
