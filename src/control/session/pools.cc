#include "control/session/pools.h"

#include <algorithm>
#include <utility>

#include "control/context.h"
#include "control/orders/start_gate.h"

namespace berth::control {
namespace {

using Group = Pool::Group;
using Stage = PoolMember::Stage;

constexpr std::uint64_t kNumbersPerBlock = 1024;
constexpr Duration kFirstBackoff = 1s;

const std::set<model::InstanceKey>& nobody() {
  static const std::set<model::InstanceKey> kNobody;
  return kNobody;
}

const model::Item* item_of(const Durable& durable, const model::Application& application) {
  const auto found = durable.items.lower_bound({application.item, application.version});
  if (found == durable.items.end() || found->first.item != application.item) return nullptr;
  if (!application.version.empty() && found->first.version != application.version) return nullptr;
  return &found->second;
}

// Whether who runs the one is as good as who runs the other.
bool runs_alike(const model::Application& a, const model::Application& b) {
  return a.item == b.item && a.version == b.version && a.sessions.service == b.sessions.service &&
         a.sessions.reuse == b.sessions.reuse &&
         a.sessions.kill_when_closed == b.sessions.kill_when_closed &&
         a.sessions.close_grace == b.sessions.close_grace &&
         a.sessions.health_period == b.sessions.health_period;
}

bool asks_alike(const model::Application& a, const model::Application& b) {
  return a.priority == b.priority && a.labels == b.labels && a.nodes == b.nodes;
}

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

// --- What is asked for -------------------------------------------------------------------------

void Pools::restore(const Step& step) {
  next_uid_ = step.config.pool_uids.first;
  for (const auto& [key, application] : step.state.durable().applications) documents_.insert(key);
}

void Pools::application_deleted(const model::ApplicationKey& key, Farewell farewell) {
  documents_.insert(key);
  const auto known = pools_.find(key);
  if (known != pools_.end()) known->second.farewell = farewell;
}

void Pools::item_edited(const Step& step, const model::ItemKey& item) {
  for (const auto& [key, application] : step.state.durable().applications) {
    if (application.item == item.item) documents_.insert(key);
  }
}

const ApplicationPool* Pools::find(const model::ApplicationKey& key) const {
  const auto found = pools_.find(key);
  return found == pools_.end() ? nullptr : &found->second;
}

ApplicationPool* Pools::find_pool(const model::InstanceKey& key) {
  const auto found = pools_.find(model::application_of(key));
  return found == pools_.end() ? nullptr : &found->second;
}

ApplicationPool& Pools::pool_of(const model::InstanceKey& key) {
  return pools_.at(model::application_of(key));
}

const PoolMember* Pools::find_member(const model::InstanceKey& key) const {
  const ApplicationPool* pool = find(model::application_of(key));
  return pool == nullptr ? nullptr : pool->pool.find(key.index);
}

void Pools::follow_documents(Context& context) {
  for (const model::ApplicationKey& key : std::exchange(documents_, {})) follow(context, key);
}

void Pools::follow(Context& context, const model::ApplicationKey& key) {
  const auto* wanted = context.state.find<model::Application>(key);
  const model::Item* item = wanted == nullptr ? nullptr : item_of(context.state.durable(), *wanted);
  if (item == nullptr) {
    const auto known = pools_.find(key);
    if (known == pools_.end()) return;
    known->second.application.reset();
    ending_.insert(key);
    end_all(context, known->second);
    return;
  }
  const auto [entry, is_new] = pools_.try_emplace(key);
  ApplicationPool& pool = entry->second;
  if (is_new) pool.key = key;
  const bool runs_on =
      pool.application && runs_alike(*pool.application, *wanted) && *pool.edition.item == *item;
  if (pool.application && !asks_alike(*pool.application, *wanted)) context.launcher.plan_anew();
  const bool was_known = pool.application.has_value();
  pool.application = *wanted;
  pool.farewell = Farewell::WithGrace;
  pool.pool.set_slots(wanted->sessions.per_instance);
  if (!runs_on) {
    pool.edition.item = std::make_shared<const model::Item>(*item);
    if (was_known) context.launcher.plan_anew();
    begin_edition(context, pool);
  }
  dirty_.insert(key);
  changed_.insert(key);
}

// After a start it is the one on record; else a new one.
void Pools::begin_edition(Context& context, ApplicationPool& pool) {
  const auto* record = context.state.find<model::NumberBlockRecord>(pool.key);
  const bool is_restored = pool.edition.number == 0 && record != nullptr;
  if (is_restored) {
    pool.edition.number = record->edition;
    pool.next_number = pool.durable_to = pool.written_to = record->reserved_to;
  } else {
    ++pool.edition.number;
  }
  pool.pool.set_edition(pool.edition.number);
  pool.roll_failures = pool.roll_credit = 0;
  pool.failures = 0;
  pool.not_before.reset();
  reserve_numbers(context, pool);
}

// Ahead of need, so that nobody waits for the disk.
void Pools::reserve_numbers(Step& step, ApplicationPool& pool) {
  const auto* record = step.state.find<model::NumberBlockRecord>(pool.key);
  const bool has_enough = pool.written_to - pool.next_number > kNumbersPerBlock / 2;
  const bool says_edition = record != nullptr && record->edition == pool.edition.number;
  if (pool.writing || (has_enough && says_edition)) return;
  if (!has_enough) pool.written_to += kNumbersPerBlock;
  step.state.put(model::NumberBlockRecord{pool.key, pool.written_to, pool.edition.number});
  pool.writing = step.state.revision() + 1;
  writing_.insert(pool.key);
  step.effects.tell_when_durable = true;
}

void Pools::became_durable(std::uint64_t revision) {
  for (const model::ApplicationKey& key : std::exchange(writing_, {})) {
    const auto found = pools_.find(key);
    if (found == pools_.end() || !found->second.writing) continue;
    ApplicationPool& pool = found->second;
    if (*pool.writing > revision) {
      writing_.insert(key);
      continue;
    }
    pool.writing.reset();
    pool.durable_to = pool.written_to;
    dirty_.insert(key);
  }
}

// Its sessions are closed by the room above; who has none goes now.
void Pools::end_all(Context& context, ApplicationPool& pool) {
  std::vector<std::uint32_t> idle;
  for (const auto& [number, member] : pool.pool.members()) {
    if (member.sessions.empty()) idle.push_back(number);
  }
  const Duration grace = pool.farewell == Farewell::Now ? Duration{} : Duration{10s};
  for (const std::uint32_t number : idle) {
    terminate(context, pool, number, grace, {"ApplicationDeleted", "its application was deleted"});
  }
  dirty_.insert(pool.key);
  changed_.insert(pool.key);
}

// --- For sessions ------------------------------------------------------------------------------

template <class Change>
void Pools::change(ApplicationPool& pool, std::uint32_t number, Change change) {
  const PoolMember& member = *pool.pool.find(number);
  const auto before = std::pair(Pool::group_of(member), member.sessions.size());
  pool.pool.change(number, change);
  changed_.insert(pool.key);
  if (before != std::pair(Pool::group_of(member), member.sessions.size())) dirty_.insert(pool.key);
}

void Pools::set_waiting(const model::ApplicationKey& key, std::uint32_t sessions) {
  const auto found = pools_.find(key);
  if (found == pools_.end() || found->second.waiting == sessions) return;
  found->second.waiting = sessions;
  dirty_.insert(key);
  changed_.insert(key);
}

// Nobody new goes where everybody has to leave.
std::optional<model::InstanceKey> Pools::free_slot(const Context&,
                                                   const model::ApplicationKey& key) const {
  const ApplicationPool* pool = find(key);
  if (pool == nullptr || !pool->application) return std::nullopt;
  const auto number = pool->pool.free_slot();
  if (!number) return std::nullopt;
  return pool->pool.find(*number)->key;
}

std::optional<model::InstanceKey> Pools::wake(const model::ApplicationKey& key) {
  const auto found = pools_.find(key);
  if (found == pools_.end() || found->second.pool.of(Group::Standby).empty()) return std::nullopt;
  const std::uint32_t number = *found->second.pool.of(Group::Standby).begin();
  const PoolMember& member = *found->second.pool.find(number);
  if (!member.place || !can_be_told(member.place->node)) return std::nullopt;
  set_pausing(found->second, number, model::Pausing::Running);
  return member.key;
}

void Pools::bind(const model::InstanceKey& key, const model::SessionRef& session) {
  ApplicationPool& pool = pool_of(key);
  change(pool, key.index, [&](PoolMember& member) { member.sessions.insert(session); });
  if (!pool.application) ending_.insert(pool.key);
}

void Pools::unbind(const model::InstanceKey& key, const model::SessionRef& session) {
  ApplicationPool* pool = find_pool(key);
  if (pool == nullptr || pool->pool.find(key.index) == nullptr) return;
  change(*pool, key.index, [&](PoolMember& member) { member.sessions.erase(session); });
  const PoolMember& member = *pool->pool.find(key.index);
  if (member.sessions.empty() && member.left_alone) must_plan_ = true;
}

void Pools::set_pausing(ApplicationPool& pool, std::uint32_t number, model::Pausing pausing) {
  change(pool, number, [&](PoolMember& member) {
    const bool pauses = pausing == model::Pausing::Paused;
    member.stage = pauses ? Stage::Pausing : Stage::Waking;
    member.for_standby = false;
  });
  const PoolMember& member = *pool.pool.find(number);
  if (can_be_told(member.place->node)) {
    tell(member.place->node, model::SetPoolPausing{member.key, pausing});
  }
}

void Pools::terminate(Context& context, const model::InstanceKey& key, Duration grace,
                      const model::Problem& why) {
  ApplicationPool* pool = find_pool(key);
  if (pool != nullptr && pool->pool.find(key.index) != nullptr) {
    terminate(context, *pool, key.index, grace, why);
  }
}

// What no agent was told of is gone at once.
void Pools::terminate(Context& context, ApplicationPool& pool, std::uint32_t number, Duration grace,
                      const model::Problem& why) {
  const PoolMember& member = *pool.pool.find(number);
  const model::InstanceKey key = member.key;
  if (member.stage == Stage::Terminating) return;
  if (member.stage == Stage::Asked || member.stage == Stage::Placed) return gone(context, key, why);
  const model::NodeId node = member.place->node;
  change(pool, number, [&](PoolMember& changed) {
    changed.stage = Stage::Terminating;
    changed.since = context.now;
    changed.grace = grace;
    changed.problem = why;
  });
  ++leaving_[node];
  overdue_.set(key, std::nullopt);
  if (can_be_told(node)) tell(node, model::StopPoolInstance{key, grace});
}

// --- For the launcher --------------------------------------------------------------------------

void Pools::add_to(placement::Snapshot& snapshot) const {
  for (const auto& [key, pool] : pools_) {
    static const model::Application kNone;
    const model::Application& application = pool.application ? *pool.application : kNone;
    const bool somebody_waits = pool.waiting > 0;
    for (const auto& [number, member] : pool.pool.members()) {
      const bool is_bound = !member.sessions.empty() || member.leaves || member.drained ||
                            member.stage == Stage::Terminating;
      snapshot.pools.push_back({.key = member.key,
                                .item = member.edition.item.get(),
                                .priority = application.priority,
                                .labels = &application.labels,
                                .nodes = &application.nodes,
                                .bound = is_bound,
                                .displaces = somebody_waits});
      if (!member.place) continue;
      snapshot.present.emplace(member.key,
                               placement::Present{.place = *member.place,
                                                  .version = member.edition.item->version,
                                                  .measured = {},
                                                  .untold = member.stage == Stage::Placed});
    }
  }
}

std::vector<placement::Ask> Pools::take_asks() {
  std::vector<placement::Ask> asks;
  for (const model::InstanceKey& key : std::exchange(asked_, {})) {
    const ApplicationPool& pool = pool_of(key);
    const PoolMember& member = *pool.pool.find(key.index);
    asks.push_back({.key = key,
                    .item = member.edition.item.get(),
                    .priority = pool.application->priority,
                    .labels = pool.application->labels,
                    .nodes = pool.application->nodes,
                    .displaces = pool.waiting > 0});
  }
  return asks;
}

std::int64_t Pools::priority_of(const PoolMember& member) const {
  const ApplicationPool* pool = find(model::application_of(member.key));
  return pool->application ? pool->application->priority : 0;
}

void Pools::placed(Context& context, const placement::Placement& placement) {
  ApplicationPool* pool = find_pool(placement.key);
  if (pool == nullptr || pool->pool.find(placement.key.index) == nullptr) return;
  const PoolMember& member = *pool->pool.find(placement.key.index);
  asked_.erase(placement.key);
  const bool is_new = member.stage == Stage::Asked || member.stage == Stage::Placed;
  if (is_new) {
    if (member.place) on_nodes_[member.place->node].erase(placement.key);
    change(*pool, placement.key.index, [&](PoolMember& changed) {
      changed.stage = Stage::Placed;
      changed.place = placement.place;
      changed.image = placement.image;
    });
    on_nodes_[placement.place.node].insert(placement.key);
    to_start_.insert(placement.key);
    pool->refusal = {};
    return;
  }
  if (member.left_alone) {
    change(*pool, placement.key.index, [](PoolMember& changed) { changed.left_alone = false; });
  }
  if (member.place == placement.place) return;
  if (placement.made_room_for) {
    return terminate(
        context, *pool, placement.key.index, 10s,
        {"Displaced", "it made room for " + model::to_string(*placement.made_room_for)});
  }
  change(*pool, placement.key.index, [](PoolMember& changed) { changed.leaves = true; });
}

void Pools::refused(Context& context, const placement::Refusal& refusal) {
  ApplicationPool* pool = find_pool(refusal.key);
  if (pool == nullptr || pool->pool.find(refusal.key.index) == nullptr) return;
  asked_.erase(refusal.key);
  if (refusal.left_running) {
    return change(*pool, refusal.key.index, [](PoolMember& changed) { changed.left_alone = true; });
  }

  const model::Problem why{std::string(model::to_string(refusal.reason)), refusal.hint};
  const PoolMember& member = *pool->pool.find(refusal.key.index);
  if (member.stage != Stage::Asked) {
    const bool displaced = refusal.made_room_for.has_value();
    return terminate(context, *pool, refusal.key.index, 10s,
                     displaced
                         ? model::Problem{"Displaced", "it made room for " +
                                                           model::to_string(*refusal.made_room_for)}
                         : why);
  }
  if (pool->refusal != why) {
    pool->refusal = why;
    context.note(NoteKind::PoolNotPlaced, "application/" + model::to_string(pool->key),
                 why.reason + ": " + why.message);
  }
  changed_.insert(pool->key);
}

std::vector<const PoolMember*> Pools::lower_on(const model::NodeId& node,
                                               std::int64_t priority) const {
  std::vector<const PoolMember*> members;
  for (const model::InstanceKey& key : on(node)) {
    const PoolMember* member = find_member(key);
    const bool may_go = member->sessions.empty() && !member->leaves && !member->drained &&
                        member->stage != Stage::Terminating;
    if (may_go && priority_of(*member) < priority) members.push_back(member);
  }
  return members;
}

const std::set<model::InstanceKey>& Pools::on(const model::NodeId& node) const {
  const auto found = on_nodes_.find(node);
  return found == on_nodes_.end() ? nobody() : found->second;
}

bool Pools::is_anybody_leaving(const model::NodeId& node) const {
  const auto found = leaving_.find(node);
  return found != leaving_.end() && found->second > 0;
}

// --- What agents say ---------------------------------------------------------------------------

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
                   const model::ReportedPoolInstance& reported) {
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
    if (reported.state != PoolInstanceState::Stopping && orders_.is_in_step(node)) {
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
  has_come_up ? came_up(context, *pool, number) : follow_pausing(*pool, *member, reported);
}

// What was told and has not come about is told again, as long as its agent can do it.
void Pools::follow_pausing(ApplicationPool& pool, const PoolMember& member,
                           const model::ReportedPoolInstance& reported) {
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
  if (!is_in_step(node)) return;
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
                            const std::set<model::InstanceKey>& listed) {
  const std::set<model::InstanceKey> known = on(node);
  for (const model::InstanceKey& key : known) {
    const PoolMember* member = find_member(key);
    const bool is_on_its_way = member->stage == Stage::Starting && !is_in_step(node);
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

// The next one is tried after a while, which grows.
void Pools::failed(Context& context, ApplicationPool& pool, const model::Problem& why) {
  pool.failure = why;
  if (pool.failures < UINT32_MAX) ++pool.failures;
  ++pool.roll_failures;
  pool.not_before = context.now + backoff_after(pool.failures, context.config.pool_backoff_max);
  wakes_.set(pool.key, *pool.not_before);
}

// --- Decisions ---------------------------------------------------------------------------------

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
  create(
      context, pool,
      std::min({burst - under_way, static_cast<std::uint32_t>(old.size()), policy.maximum - all}),
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
