#include <algorithm>
#include <initializer_list>
#include <utility>

#include "control/context.h"
#include "control/orders/start_gate.h"
#include "control/session/pools.h"

namespace berth::control {
namespace {

using Group = Pool::Group;
using Stage = PoolMember::Stage;

constexpr Duration kFirstBackoff = 1s;

model::PoolSizes sizes_of(const ApplicationPool& pool) {
  const Pool& members = pool.pool;
  return {.active = members.count(Group::Active),
          .free_slots = members.free_slots_on_active(),
          .unplaced = members.count(Group::Unplaced),
          .pending = members.count(Group::Pending),
          .ready = members.count(Group::Ready),
          .making_standby = members.count(Group::MakingStandby),
          .standby = members.count(Group::Standby),
          .terminating = members.count(Group::Terminating),
          .waiting = pool.waiting};
}

std::uint32_t outdated_in(const Pool& pool, std::initializer_list<Group> groups) {
  std::size_t count = 0;
  for (const Group group : groups) count += pool.outdated(group).size();
  return static_cast<std::uint32_t>(count);
}

// Replacements come in addition to those that they replace: while there are such, these are what is
// too much.
void spare_replacements(const Pool& pool, model::ScalingStep& step) {
  const auto outdated = [&](Group group) {
    return static_cast<std::uint32_t>(pool.outdated(group).size());
  };
  const std::uint32_t ready = outdated(Group::Ready);
  step.remove_unplaced -= std::min(step.remove_unplaced, ready + outdated(Group::Standby));
  const std::uint32_t instead = std::min(step.remove_pending, ready);
  step.remove_pending -= instead;
  step.remove_ready += instead;
}

Duration backoff_after(std::uint32_t failures, Duration longest) {
  Duration wait = kFirstBackoff;
  for (std::uint32_t n = 1; n < failures && wait < longest; ++n) wait *= 2;
  return std::min(wait, longest);
}

}  // namespace

std::uint32_t surplus_of(const ApplicationPool& pool) {
  return model::surplus_of(pool.application->scaling, pool.application->sessions.per_instance,
                           sizes_of(pool));
}

model::ScalingStep scaling_step_of(const ApplicationPool& pool, std::uint32_t removable) {
  model::ScalingStep step =
      model::scaling_step(pool.application->scaling, pool.application->sessions.per_instance,
                          sizes_of(pool), removable);
  if (pool.cannot_pause) step.make_standby = step.pause_ready = 0;
  spare_replacements(pool.pool, step);
  return step;
}

// The next one is tried after a while, which grows.
void Pools::failed(Context& context, ApplicationPool& pool, const model::Problem& why) {
  pool.failure = why;
  if (pool.failures < UINT32_MAX) ++pool.failures;
  ++pool.roll_failures;
  pool.not_before = context.now + backoff_after(pool.failures, context.config.pool_backoff_max);
  wakes_.set(pool.key, *pool.not_before);
}

void Pools::decide(Context& context) {
  if (std::exchange(must_plan_, false)) context.launcher.plan_anew();
  give_up_overdue(context);
  for (const model::ApplicationKey& key : wakes_.take_due(context.now)) dirty_.insert(key);
  for (const model::ApplicationKey& key : std::exchange(dirty_, {})) {
    const auto found = pools_.find(key);
    if (found == pools_.end()) continue;
    ApplicationPool& pool = found->second;
    if (pool.application) {
      scale(context, pool);
      reserve_numbers(context, pool);
    } else if (pool.pool.empty()) {
      // Its numbers stay on record: a node that is away may have one of them.
      pools_.erase(found);
    } else {
      end_all(context, pool);
      dirty_.erase(key);
    }
  }
}

void Pools::give_up_overdue(Context& context) {
  for (const model::InstanceKey& key : overdue_.take_due(context.now)) {
    ApplicationPool* pool = find_pool(key);
    const PoolMember* member = pool == nullptr ? nullptr : pool->pool.find(key.index);
    if (member == nullptr || member->stage != Stage::Starting) continue;
    const model::Problem why{"StartTimeout", "its agent has not reported it running in time"};
    failed(context, *pool, why);
    terminate(context, *pool, key.index, Duration{}, why);
  }
}

void Pools::scale(Context& context, ApplicationPool& pool) {
  const model::ScalingPolicy& policy = pool.application->scaling;
  pool.surplus.see(context.now, surplus_of(pool));
  const std::uint32_t removable = pool.surplus.least(context.now, policy.cooldown);
  carry_out(context, pool, scaling_step_of(pool, removable));
  roll(context, pool);
  end_replaced(context, pool);
  std::optional<Time> next = pool.surplus.grows_at(context.now, policy.cooldown);
  if (pool.not_before && *pool.not_before > context.now) take_earlier(next, pool.not_before);
  wakes_.set(pool.key, next);
}

void Pools::carry_out(Context& context, ApplicationPool& pool, const model::ScalingStep& step) {
  remove(context, pool, Group::Unplaced, step.remove_unplaced);
  remove(context, pool, Group::Pending, step.remove_pending);
  remove(context, pool, Group::Ready, step.remove_ready);
  remove(context, pool, Group::Standby, step.remove_standby);
  for (std::uint32_t i = 0; i < step.pause_ready && !pool.pool.of(Group::Ready).empty(); ++i) {
    set_pausing(pool, *pool.pool.of(Group::Ready).rbegin(), model::Pausing::Paused);
  }
  for (std::uint32_t i = 0; i < step.wake && !pool.pool.of(Group::Standby).empty(); ++i) {
    set_pausing(pool, *pool.pool.of(Group::Standby).begin(), model::Pausing::Running);
  }
  for (std::uint32_t i = 0; i < step.keep_running; ++i) {
    const auto& making = pool.pool.of(Group::MakingStandby);
    if (making.empty()) break;
    change(pool, *making.begin(), [](PoolMember& changed) { changed.for_standby = false; });
  }
  create(context, pool, step.create, For::Sessions);
  create(context, pool, step.make_standby, For::Standby);
}

// The newest first, but before those who are to stay those who are replaced: else new ones would be
// made and removed for ever.
void Pools::remove(Context& context, ApplicationPool& pool, Group group, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count && !pool.pool.of(group).empty(); ++i) {
    const auto& outdated = pool.pool.outdated(group);
    const auto& victims = outdated.empty() ? pool.pool.of(group) : outdated;
    if (!outdated.empty() && pool.roll_credit > 0) --pool.roll_credit;
    terminate(context, pool, *victims.rbegin(), 10s,
              {"Surplus", "its application needs fewer instances"});
  }
}

std::optional<std::uint32_t> Pools::take_uid(const Config& config) {
  const std::uint32_t size = config.pool_uids.last - config.pool_uids.first + 1;
  for (std::uint32_t tried = 0; tried < size; ++tried) {
    const std::uint32_t uid = next_uid_;
    next_uid_ = uid == config.pool_uids.last ? config.pool_uids.first : uid + 1;
    if (uids_.insert(uid).second) return uid;
  }
  return std::nullopt;
}

void Pools::create(Context& context, ApplicationPool& pool, std::uint32_t count, For what) {
  if (pool.not_before && context.now < *pool.not_before) return;
  for (std::uint32_t i = 0; i < count && pool.next_number < pool.durable_to; ++i) {
    const model::InstanceKey key =
        model::pool_instance(pool.key, static_cast<std::uint32_t>(pool.next_number++));
    if (pool.pool.find(key.index) != nullptr) continue;  // a store has forgotten it
    const auto uid = take_uid(context.config);
    if (!uid) return;
    pool.pool.add({.key = key,
                   .edition = pool.edition,
                   .uid = *uid,
                   .for_standby = what == For::Standby,
                   .since = context.now});
    asked_.insert(key);
  }
  changed_.insert(pool.key);
}

// Who runs another edition is replaced: for each new one that is ready an old one goes. It stops
// when too many new ones did not come up; those that are there serve on.
void Pools::roll(Context& context, ApplicationPool& pool) {
  std::vector<std::uint32_t> old;
  for (const Group group : {Group::Ready, Group::Standby, Group::Unplaced, Group::Pending}) {
    old.insert(old.end(), pool.pool.outdated(group).begin(), pool.pool.outdated(group).end());
  }
  if (old.empty()) return;
  const model::ScalingPolicy& policy = pool.application->scaling;
  const std::uint32_t burst = policy.burst.value_or(policy.maximum);
  const model::Problem why{"Replaced", "its application asks for something else"};
  const model::PoolSizes sizes = sizes_of(pool);
  const std::uint32_t all = sizes.active + sizes.unplaced + sizes.pending + sizes.ready +
                            sizes.making_standby + sizes.standby;
  for (const std::uint32_t number : old) {
    const bool is_ready = pool.pool.find(number)->stage == Stage::Running;
    const bool is_full = all >= policy.maximum;
    if (is_ready && !is_full && pool.roll_credit == 0) continue;
    if (sizes.terminating >= burst) break;
    if (is_ready && pool.roll_credit > 0) --pool.roll_credit;
    terminate(context, pool, number, 10s, why);
    if (is_full) return;
  }
  const std::uint32_t under_way = sizes.unplaced + sizes.pending;
  if (pool.roll_failures >= burst || under_way >= burst || all >= policy.maximum) return;
  // One for each is enough, however often it is looked at.
  const Pool& members = pool.pool;
  const std::uint32_t to_replace = outdated_in(members, {Group::Ready});
  const std::uint32_t coming = members.count(Group::Unplaced) + members.count(Group::Pending) -
                               outdated_in(members, {Group::Unplaced, Group::Pending});
  const std::uint32_t replacing = coming + pool.roll_credit;
  if (replacing >= to_replace) return;
  create(context, pool, std::min({burst - under_way, to_replace - replacing, policy.maximum - all}),
         For::Sessions);
}

// Who leaves its node goes when those who take its place are ready, or are not needed.
void Pools::end_replaced(Context& context, ApplicationPool& pool) {
  const model::PoolSizes sizes = sizes_of(pool);
  if (sizes.unplaced + sizes.pending > 0) return;
  const std::set<std::uint32_t> leaving = pool.pool.of(Group::Leaving);
  for (const std::uint32_t number : leaving) {
    if (!pool.pool.find(number)->sessions.empty()) continue;
    terminate(context, pool, number, 10s, {"Replaced", "its place is another's by now"});
  }
}

// After orders: what leaves a node still takes its room.
void Pools::start_placed(Context& context) {
  std::set<model::InstanceKey> waits;
  for (const model::InstanceKey& key : std::exchange(to_start_, {})) {
    const PoolMember* member = find_member(key);
    if (member == nullptr || member->stage != Stage::Placed) continue;
    const model::NodeId& node = member->place->node;
    if (!can_be_told(node)) continue;  // when it is there again
    const bool may_start =
        has_room_now(context, node, key, *member->edition.item, member->place->runtime);
    may_start ? start(context, pool_of(key), *member) : void(waits.insert(key));
  }
  to_start_.merge(waits);
}

void Pools::start(Context& context, ApplicationPool& pool, const PoolMember& member) {
  model::StartPoolInstance order;
  order.spec.key = member.key;
  order.spec.item = *member.edition.item;
  order.spec.image = member.image;
  order.spec.runtime = member.place->runtime;
  order.spec.priority = priority_of(member);
  order.spec.uid = order.spec.gid = member.uid;
  order.edition = member.edition.number;
  order.sessions = pool.application->sessions;
  tell(member.place->node, std::move(order));
  const Time given_up_at = context.now + context.config.pool_start_timeout;
  overdue_.set(member.key, given_up_at);
  change(pool, member.number(), [&](PoolMember& changed) {
    changed.stage = Stage::Starting;
    changed.given_up_at = given_up_at;
  });
}

std::vector<model::ApplicationKey> Pools::take_changed() {
  const auto changed = std::exchange(changed_, {});
  return {changed.begin(), changed.end()};
}

Time Pools::next(const Step& step) const {
  if (!dirty_.empty()) return step.now;
  std::optional<Time> next = overdue_.next();
  take_earlier(next, wakes_.next());
  return std::min(next.value_or(kNever), orders_.next());
}

}  // namespace berth::control
