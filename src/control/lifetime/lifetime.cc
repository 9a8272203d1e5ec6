#include "control/lifetime/lifetime.h"

#include <algorithm>

#include "control/context.h"
#include "control/documents/overrides.h"
#include "control/id_pool.h"

namespace berth::control {
namespace {

using model::Phase;

// Whether the network room takes back what address it holds in this step.
bool is_nowhere(const Context& context, const model::InstanceKey& key) {
  return context.reachability.settled() && context.reachability.all_heard() &&
         std::ranges::none_of(context.nodes, [&](const auto& entry) {
           return is_present(context.nodes, entry.first, key);
         });
}

// How long ago the times of the list began to count, by the date: also while there was no control
// plane. A date that went backwards, or years ahead, is not believed.
Duration age_of(const Step& step, const model::EnvOverride& list) {
  if (!list.counted_from) return {};
  const Duration age = step.date_of(step.now) - *list.counted_from;
  const bool is_plausible = age >= Duration{} && age <= step.config.plausible_absence;
  return is_plausible ? age : Duration{};
}

}  // namespace

void Lifetime::restore(const Step& step) {
  for (const auto& [key, record] : step.state.durable().instances) {
    follow(step, record);
    const bool emptied = record.phase == Phase::Erasing && record.data_on.empty();
    if (emptied) emptied_.insert(key);
  }
  for (const auto& [name, override] : step.state.durable().env_overrides) {
    if (next_expiry(override, step.now) == kNever) continue;
    overrides_.emplace(name, step.now - age_of(step, override));
    begin_writing_down(step);
  }
}

void Lifetime::begin_writing_down(const Step& step) {
  if (!written_down_) written_down_ = step.now;
}

void Lifetime::follow(const Step& step, const model::InstanceRecord& record) {
  const bool counts = cached_.contains(record.key);
  if (record.phase != Phase::Cached) {
    if (counts) forget(record.key);
  } else if (!counts) {
    follow_from_now(step, record);
  }
}

void Lifetime::follow_from_now(const Step& step, const model::InstanceRecord& record) {
  forget(record.key);
  const Time until = step.now + record.kept_for;
  cached_.emplace(record.key, Kept{step.now, until});
  cached_until_.emplace(until, record.key);
  begin_writing_down(step);
}

void Lifetime::forget(const model::InstanceKey& key) {
  const auto known = cached_.find(key);
  if (known == cached_.end()) return;
  cached_until_.erase({known->second.until, key});
  cached_.erase(known);
}

void Lifetime::follow_override(const Step& step, const std::string& name) {
  overrides_.insert_or_assign(name, step.now);
  begin_writing_down(step);
}

// --- Erasing -----------------------------------------------------------------------------------

// As long as it holds an address, its record is all that tells of that after a restart.
void Lifetime::finish_erasing(Context& context, const model::InstanceRecord& record) {
  if (record.address && !is_nowhere(context, record.key)) {
    context.put(record);
    emptied_.insert(record.key);
    return;
  }
  emptied_.erase(record.key);
  if (record.uid != 0) give_back_uid(context.state, record.uid);
  context.note(NoteKind::Erased, record.key,
               "its data are gone from every node of the unit, its ids are free");
  context.erase(record.key);
}

void Lifetime::forget_data(Context& context, const model::NodeId& node,
                           const model::InstanceKey& key) {
  const auto* known = context.state.find<model::InstanceRecord>(key);
  if (known == nullptr || known->phase != Phase::Erasing) return;
  model::InstanceRecord record = *known;
  record.data_on.erase(node);
  if (record.data_on.empty()) return finish_erasing(context, record);
  context.put(record);
  // Somebody waits for it, and is told where the rest is.
  if (context.statuses.refusal_of(key) != nullptr) context.launcher.plan_anew();
}

void Lifetime::finish_emptied(Context& context) {
  const std::set<model::InstanceKey> emptied = emptied_;
  for (const model::InstanceKey& key : emptied) {
    const model::InstanceRecord record = *context.state.find<model::InstanceRecord>(key);
    finish_erasing(context, record);
  }
}

void Lifetime::delete_due(Context& context) {
  while (!cached_until_.empty() && cached_until_.begin()->first <= context.now) {
    const model::InstanceKey key = cached_until_.begin()->second;
    delete_instance(context, key, "nobody has asked for it for long enough");
  }
}

void Lifetime::delete_instance(Context& context, const model::InstanceKey& key, std::string why) {
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

void Lifetime::decide(Context& context) {
  for (const auto& [node, key] : std::exchange(gone_, {})) forget_data(context, node, key);
  if (!context.reachability.settled()) return;
  finish_emptied(context);
  expire_overrides(context);
  delete_due(context);
}

// --- Running out -------------------------------------------------------------------------------

void Lifetime::expire_overrides(Context& context) {
  const auto written = overrides_;
  for (const auto& [name, at] : written) {
    const model::EnvOverride& known = context.state.durable().env_overrides.at(name);
    if (next_expiry(known, at) > context.now) continue;
    context.note(NoteKind::OverrideExpired, "override/" + name, "some variables");
    replace_override(context, name, what_is_left(known, context.now - at));
  }
}

void Lifetime::write_down_all(Step& step) {
  if (nothing_runs_out()) return;
  const auto cached = cached_;
  for (const auto& [key, at] : cached) {
    model::InstanceRecord record = *step.state.find<model::InstanceRecord>(key);
    record.kept_for = time_left(step, record);
    step.state.put(record);
    follow_from_now(step, record);
  }
  for (auto& [name, at] : overrides_) {
    const model::EnvOverride& known = step.state.durable().env_overrides.at(name);
    auto left = what_is_left(known, step.now - at);
    if (!left) continue;  // it expires in this step, or when we have settled
    left->counted_from = step.date_of(step.now);
    step.state.put(*left);
    at = step.now;
  }
  written_down_ = step.now;
}

void Lifetime::write_down_due(Context& context) {
  if (nothing_runs_out() || !context.reachability.settled()) return;
  const Duration age = context.now - *written_down_;
  const bool with_others =
      context.state.has_changes() && age >= context.config.write_down_with_others;
  if (with_others || age >= context.config.write_down_at_latest) write_down_all(context);
}

Duration Lifetime::time_left(const Step& step, const model::InstanceRecord& record) const {
  const auto known = cached_.find(record.key);
  if (known == cached_.end()) return record.kept_for;
  return std::max(Duration{}, known->second.until - step.now);
}

Time Lifetime::next(const Context& context) const {
  if (nothing_runs_out() || !context.reachability.settled()) return kNever;
  Time next = *written_down_ + context.config.write_down_at_latest;
  if (!cached_until_.empty()) next = std::min(next, cached_until_.begin()->first);
  for (const auto& [name, at] : overrides_) {
    next = std::min(next, next_expiry(context.state.durable().env_overrides.at(name), at));
  }
  return next;
}

}  // namespace berth::control
