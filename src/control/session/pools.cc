#include "control/session/pools.h"

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

using Group = Pool::Group;
using Stage = PoolMember::Stage;

constexpr std::uint64_t kNumbersPerBlock = 1024;

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

}  // namespace

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

}  // namespace berth::control
