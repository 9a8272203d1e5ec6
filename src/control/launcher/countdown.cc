#include "control/launcher/countdown.h"

#include <algorithm>

#include "control/cluster/drain.h"
#include "control/id_pool.h"
#include "control/launcher/overrides.h"
#include "control/network/holders.h"
#include "control/passes.h"

namespace berth::control {
namespace {

using model::Phase;

void note_begun(Context& context) {
  if (!context.countdowns.written_down) context.countdowns.written_down = context.now;
}

void count_down_from_now(Context& context, const model::InstanceRecord& record) {
  Countdowns& countdowns = context.countdowns;
  stop_counting_down(context, record.key);
  const Time until = context.now + record.kept_for;
  countdowns.cached.emplace(record.key, Countdowns::Kept{context.now, until});
  countdowns.cached_until.emplace(until, record.key);
  note_begun(context);
}

// --- Erasing -----------------------------------------------------------------------------------

// Whether the network pass of this step takes back what address it holds.
bool is_nowhere(const Context& context, const model::InstanceKey& key) {
  return context.settled && context.unheard.empty() &&
         std::ranges::none_of(context.nodes, [&](const auto& entry) {
           return is_present(context, entry.first, key);
         });
}

// As long as it holds an address, its record is all that tells of that after a restart.
void finish_erasing(Context& context, const model::InstanceRecord& record) {
  if (record.address && !is_nowhere(context, record.key)) {
    context.put(record);
    context.countdowns.emptied.insert(record.key);
    return;
  }
  context.countdowns.emptied.erase(record.key);
  if (record.uid != 0) give_back_uid(context.state, record.uid);
  context.note(NoteKind::Erased, record.key,
               "its data are gone from every node of the unit, its ids are free");
  context.erase(record.key);
}

// The data are gone from the node, or the node is gone for good.
void forget_data(Context& context, const model::NodeId& node, const model::InstanceKey& key) {
  const auto* known = context.state.find<model::InstanceRecord>(key);
  if (known == nullptr || known->phase != Phase::Erasing) return;
  model::InstanceRecord record = *known;
  record.data_on.erase(node);
  if (record.data_on.empty()) return finish_erasing(context, record);
  context.put(record);
  // Somebody waits for it, and is told where the rest is.
  const auto observed = context.instances.find(key);
  if (observed != context.instances.end() && observed->second.refusal) context.dirty.plan = true;
}

void finish_emptied(Context& context) {
  const std::set<model::InstanceKey> emptied = context.countdowns.emptied;
  for (const model::InstanceKey& key : emptied) {
    const model::InstanceRecord record = *context.state.find<model::InstanceRecord>(key);
    finish_erasing(context, record);
  }
}

void delete_due(Context& context) {
  auto& due = context.countdowns.cached_until;
  while (!due.empty() && due.begin()->first <= context.now) {
    const model::InstanceKey key = due.begin()->second;
    delete_instance(context, key, "nobody has asked for it for long enough");
  }
}

// --- Overrides ---------------------------------------------------------------------------------

void expire_overrides(Context& context) {
  const auto written = context.countdowns.overrides;
  for (const auto& [name, at] : written) {
    const model::EnvOverride& known = context.state.durable().env_overrides.at(name);
    if (next_expiry(known, at) > context.now) continue;
    context.note(NoteKind::OverrideExpired, "override/" + name, "some variables");
    replace_override(context, name, what_is_left(known, context.now - at));
  }
}

void write_down(Context& context) {
  const auto cached = context.countdowns.cached;
  for (const auto& [key, at] : cached) {
    model::InstanceRecord record = *context.state.find<model::InstanceRecord>(key);
    record.kept_for = time_left(context, record);
    context.state.put(record);
    count_down_from_now(context, record);
  }
  for (auto& [name, at] : context.countdowns.overrides) {
    const model::EnvOverride& known = context.state.durable().env_overrides.at(name);
    auto left = what_is_left(known, context.now - at);
    if (!left) continue;  // it expires in this step, or when we have settled
    left->counted_from = context.date_of(context.now);
    context.state.put(*left);
    at = context.now;
  }
  context.countdowns.written_down = context.now;
}

// How long ago the times of the list began to count, by the date: also while there was no control
// plane. A date that went backwards, or years ahead, is not believed.
Duration age_of(const Context& context, const model::EnvOverride& list) {
  if (!list.counted_from) return {};
  const Duration age = context.date_of(context.now) - *list.counted_from;
  const bool is_plausible = age >= Duration{} && age <= context.config.plausible_absence;
  return is_plausible ? age : Duration{};
}

}  // namespace

void begin_countdowns(Context& context) {
  for (const auto& [key, record] : context.state.durable().instances) {
    count_down(context, record);
    const bool emptied = record.phase == Phase::Erasing && record.data_on.empty();
    if (emptied) context.countdowns.emptied.insert(key);
  }
  for (const auto& [name, override] : context.state.durable().env_overrides) {
    if (next_expiry(override, context.now) == kNever) continue;
    context.countdowns.overrides.emplace(name, context.now - age_of(context, override));
    note_begun(context);
  }
}

void count_down(Context& context, const model::InstanceRecord& record) {
  const bool counts = context.countdowns.cached.contains(record.key);
  if (record.phase != Phase::Cached) {
    if (counts) stop_counting_down(context, record.key);
  } else if (!counts) {
    count_down_from_now(context, record);
  }
}

void stop_counting_down(Context& context, const model::InstanceKey& key) {
  Countdowns& countdowns = context.countdowns;
  const auto known = countdowns.cached.find(key);
  if (known == countdowns.cached.end()) return;
  countdowns.cached_until.erase({known->second.until, key});
  countdowns.cached.erase(known);
}

Duration time_left(const Context& context, const model::InstanceRecord& record) {
  const auto known = context.countdowns.cached.find(record.key);
  if (known == context.countdowns.cached.end()) return record.kept_for;
  return std::max(Duration{}, known->second.until - context.now);
}

Time next_countdown(const Context& context) {
  const Countdowns& countdowns = context.countdowns;
  if (countdowns.empty() || !context.settled) return kNever;
  Time next = *countdowns.written_down + context.config.write_down_at_latest;
  if (!countdowns.cached_until.empty()) {
    next = std::min(next, countdowns.cached_until.begin()->first);
  }
  for (const auto& [name, at] : countdowns.overrides) {
    next = std::min(next, next_expiry(context.state.durable().env_overrides.at(name), at));
  }
  return next;
}

void delete_instance(Context& context, const model::InstanceKey& key, std::string why) {
  model::InstanceRecord record = *context.state.find<model::InstanceRecord>(key);
  record.phase = Phase::Erasing;
  record.kept_for = {};
  std::erase_if(record.data_on, [&](const model::NodeId& node) {
    return !context.state.durable().nodes.contains(node);
  });
  context.note(NoteKind::Deleted, key, std::move(why));
  context.put(record);
  if (record.data_on.empty()) finish_erasing(context, record);
}

void expiry_pass(Context& context) {
  for (const auto& [node, key] : context.dirty.erased) forget_data(context, node, key);
  if (!context.settled) return;
  finish_emptied(context);
  expire_overrides(context);
  delete_due(context);
}

void write_down_all(Context& context) {
  write_down_drains(context, Duration{});
  if (!context.countdowns.empty()) write_down(context);
}

void countdown_pass(Context& context) {
  const Countdowns& countdowns = context.countdowns;
  if (context.state.has_changes()) write_down_drains(context, context.config.write_down_drains);
  if (countdowns.empty() || !context.settled) return;
  const Duration age = context.now - *countdowns.written_down;
  const bool with_others =
      context.state.has_changes() && age >= context.config.write_down_with_others;
  if (with_others || age >= context.config.write_down_at_latest) write_down(context);
}

}  // namespace berth::control
