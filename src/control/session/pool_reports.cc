#include "control/session/pools.h"

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

using Group = Pool::Group;
using Stage = PoolMember::Stage;

}  // namespace

void Pools::connected(const model::NodeId& node, ConnectionId connection) {
  orders_.begin(node, connection);
  set_away(node, false);
  for (const model::InstanceKey& key : on(node)) to_start_.insert(key);
}

void Pools::disconnected(const model::NodeId& node) {
  orders_.end(node);
  set_away(node, true);
}

void Pools::set_away(const model::NodeId& node, bool away) {
  for (const model::InstanceKey& key : on(node)) {
    ApplicationPool& pool = pool_of(key);
    if (pool.pool.find(key.index)->away == away) continue;
    change(pool, key.index, [&](PoolMember& member) { member.away = away; });
    dirty_.insert(pool.key);
  }
}

void Pools::end_strangers() {
  for (const auto& [key, node] : std::exchange(strangers_, {})) {
    if (find_member(key) == nullptr && can_be_told(node)) {
      tell(node, model::StopPoolInstance{key, 10s});
    }
  }
}

void Pools::report(Context& context, const model::NodeId& node,
                   const model::ReportedPoolInstance& reported, bool is_in_step) {
  using model::PoolInstanceState;
  ApplicationPool* pool = find_pool(reported.key);
  const PoolMember* member = pool == nullptr ? nullptr : pool->pool.find(reported.key.index);
  const bool is_ours = member != nullptr && member->place && member->place->node == node;
  if (reported.state == PoolInstanceState::Gone) {
    if (is_ours) gone(context, reported.key, reported.problem);
    return;
  }
  if (member == nullptr) return adopt(context, node, reported);
  if (!is_ours) return tell(node, model::StopPoolInstance{reported.key, 10s});
  const std::uint32_t number = reported.key.index;
  if (member->stage == Stage::Terminating) {
    if (reported.state != PoolInstanceState::Stopping && is_in_step) {
      tell(node, model::StopPoolInstance{reported.key, member->grace});
    }
    return;
  }
  if (reported.cannot_pause) {
    pool->cannot_pause = true;
    pool->failure = reported.problem;
  }
  if (member->ports != reported.ports) {
    change(*pool, number, [&](PoolMember& changed) { changed.ports = reported.ports; });
  }
  if (reported.state == PoolInstanceState::Stopping) {
    change(*pool, number, [&](PoolMember& changed) {
      changed.stage = Stage::Terminating;
      changed.problem = reported.problem;
    });
    ++leaving_[node];
    return;
  }
  const bool has_come_up = reported.state == PoolInstanceState::Running &&
                           (member->stage == Stage::Starting || member->stage == Stage::Waking);
  has_come_up ? came_up(context, *pool, number)
              : follow_pausing(*pool, *member, reported, is_in_step);
}

// What was told and has not come about is told again, as long as its agent can do it.
void Pools::follow_pausing(ApplicationPool& pool, const PoolMember& member,
                           const model::ReportedPoolInstance& reported, bool is_in_step) {
  const bool is_paused = reported.state == model::PoolInstanceState::Paused;
  const model::NodeId& node = member.place->node;
  const auto become = [&](Stage stage) {
    change(pool, member.number(), [&](PoolMember& changed) { changed.stage = stage; });
  };
  if (member.stage == Stage::Pausing && is_paused) return become(Stage::Standby);
  if (member.stage == Stage::Standby && !is_paused) return become(Stage::Running);
  if (member.stage == Stage::Pausing && reported.cannot_pause) {
    tell(node, model::SetPoolPausing{member.key, model::Pausing::Running});
    return become(Stage::Running);
  }
  if (!is_in_step) return;
  if (member.stage == Stage::Pausing) {
    tell(node, model::SetPoolPausing{member.key, model::Pausing::Paused});
  } else if (is_paused && member.stage != Stage::Standby) {
    tell(node, model::SetPoolPausing{member.key, model::Pausing::Running});
  }
}

// Of an earlier life of the control plane: whoever its application wants is one of its pool.
void Pools::adopt(Context& context, const model::NodeId& node,
                  const model::ReportedPoolInstance& reported) {
  using model::PoolInstanceState;
  ApplicationPool* pool = find_pool(reported.key);
  const auto* item =
      context.state.find<model::Item>({model::ItemId{reported.item}, reported.version});
  if (pool == nullptr || !pool->application || item == nullptr) {
    strangers_.insert_or_assign(reported.key, node);
    return;
  }
  PoolMember member{.key = reported.key,
                    .edition = {reported.edition, nullptr},
                    .stage = Stage::Starting,
                    .place = model::Place{node, reported.runtime},
                    .image = reported.image,
                    .uid = reported.uid,
                    .since = context.now,
                    .given_up_at = context.now + context.config.pool_start_timeout,
                    .ports = reported.ports};
  const bool is_current = reported.edition == pool->edition.number;
  member.edition.item =
      is_current ? pool->edition.item : std::make_shared<const model::Item>(*item);
  if (reported.state == PoolInstanceState::Running) member.stage = Stage::Running;
  if (reported.state == PoolInstanceState::Paused) member.stage = Stage::Standby;
  if (reported.state == PoolInstanceState::Stopping) {
    member.stage = Stage::Terminating;
    ++leaving_[node];
  }
  uids_.insert(member.uid);
  if (member.stage == Stage::Starting) overdue_.set(member.key, member.given_up_at);
  pool->pool.add(std::move(member));
  on_nodes_[node].insert(reported.key);
  dirty_.insert(pool->key);
  changed_.insert(pool->key);
  context.launcher.plan_anew();
}

void Pools::forget_unlisted(Context& context, const model::NodeId& node,
                            const std::set<model::InstanceKey>& listed, bool is_in_step) {
  const std::set<model::InstanceKey> known = on(node);
  for (const model::InstanceKey& key : known) {
    const PoolMember* member = find_member(key);
    const bool is_on_its_way = member->stage == Stage::Starting && !is_in_step;
    const bool was_told = member->stage != Stage::Placed && !is_on_its_way;
    const bool may_be_there = is_untold(context.nodes.at(node), member->place->runtime);
    if (was_told && !listed.contains(key) && !may_be_there) {
      gone(context, key, {"Vanished", "its node does not have it any more"});
    }
  }
}

void Pools::lose_node(Context& context, const model::NodeId& node, const model::Problem& why) {
  const std::set<model::InstanceKey> known = on(node);
  const std::size_t before = lost_.size();
  for (const model::InstanceKey& key : known) gone(context, key, why);
  for (std::size_t i = before; i < lost_.size(); ++i) lost_[i].may_be_there = true;
}

void Pools::drain(Context& context, const model::NodeId& node, Drained drained) {
  const std::set<model::InstanceKey> known = on(node);
  for (const model::InstanceKey& key : known) {
    ApplicationPool& pool = pool_of(key);
    const PoolMember& member = *pool.pool.find(key.index);
    if (member.drained != (drained != Drained::No)) {
      change(pool, key.index,
             [&](PoolMember& changed) { changed.drained = drained != Drained::No; });
    }
    if (drained == Drained::Overdue && member.sessions.empty()) {
      terminate(context, pool, key.index, 10s, {"NodeDrained", "its node is drained"});
    }
  }
}

void Pools::came_up(Context& context, ApplicationPool& pool, std::uint32_t number) {
  const PoolMember& member = *pool.pool.find(number);
  const bool began = member.stage == Stage::Starting;
  const bool for_standby = member.for_standby;
  overdue_.set(member.key, std::nullopt);
  if (began) {
    pool.usual_start = (pool.usual_start * 3 + (context.now - member.since)) / 4;
    pool.failures = 0;
    pool.failure = {};
    if (member.edition.number == pool.edition.number && pool.roll_credit < UINT32_MAX) {
      ++pool.roll_credit;
    }
    context.note(NoteKind::PoolInstanceStarted, member.key,
                 "on " + model::to_string(*member.place));
  }
  change(pool, number, [&](PoolMember& changed) {
    changed.stage = Stage::Running;
    changed.since = context.now;
  });
  if (for_standby && !pool.cannot_pause) set_pausing(pool, number, model::Pausing::Paused);
}

void Pools::gone(Context& context, const model::InstanceKey& key, const model::Problem& why) {
  ApplicationPool& pool = pool_of(key);
  const PoolMember member = *pool.pool.find(key.index);
  const bool did_not_come_up = member.stage == Stage::Starting;
  const bool was_wanted = member.stage != Stage::Terminating && !member.leaves;
  if (member.place) {
    on_nodes_[member.place->node].erase(key);
    if (member.stage == Stage::Terminating) --leaving_[member.place->node];
    context.launcher.pool_instance_gone(context, member);
    context.orders.look_at(member.place->node);
    lost_.push_back({key, member.place->node, member.sessions,
                     member.problem.reason.empty() ? why : member.problem});
    context.note(NoteKind::PoolInstanceEnded, key, why.reason + ": " + why.message);
  }
  uids_.erase(member.uid);
  asked_.erase(key);
  to_start_.erase(key);
  overdue_.set(key, std::nullopt);
  pool.pool.erase(key.index);
  if (did_not_come_up && was_wanted) failed(context, pool, why);
  dirty_.insert(pool.key);
  changed_.insert(pool.key);
}

}  // namespace berth::control
