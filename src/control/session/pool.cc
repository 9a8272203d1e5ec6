#include "control/session/pool.h"

#include <utility>

#include "base/check.h"

namespace berth::control {

using Stage = PoolMember::Stage;

PoolMember& Pool::add(PoolMember member) {
  const std::uint32_t number = member.number();
  const auto [entry, is_new] = members_.emplace(number, std::move(member));
  CHECK(is_new, "numbers are never used twice");
  enter_groups(entry->second);
  return entry->second;
}

void Pool::erase(std::uint32_t number) {
  leave_groups(members_.at(number));
  members_.erase(number);
}

const PoolMember* Pool::find(std::uint32_t number) const {
  const auto found = members_.find(number);
  return found == members_.end() ? nullptr : &found->second;
}

void Pool::set_slots(std::uint32_t per_instance) {
  for (const auto& [number, member] : members_) leave_groups(member);
  slots_ = per_instance;
  for (const auto& [number, member] : members_) enter_groups(member);
}

void Pool::set_edition(std::uint64_t number) {
  for (const auto& [key, member] : members_) leave_groups(member);
  edition_ = number;
  for (const auto& [key, member] : members_) enter_groups(member);
}

std::optional<std::uint32_t> Pool::free_slot() const {
  if (open_.empty()) return std::nullopt;
  return open_.begin()->second;
}

Pool::Group Pool::group_of(const PoolMember& member) {
  if (member.stage == Stage::Terminating) return Group::Terminating;
  if (member.leaves || member.drained) return Group::Leaving;
  switch (member.stage) {
    case Stage::Asked: return member.for_standby ? Group::MakingStandby : Group::Unplaced;
    case Stage::Placed:
    case Stage::Starting: return member.for_standby ? Group::MakingStandby : Group::Pending;
    case Stage::Waking: return member.sessions.empty() ? Group::Pending : Group::Active;
    case Stage::Running: return member.sessions.empty() ? Group::Ready : Group::Active;
    case Stage::Pausing:
    case Stage::Standby: return Group::Standby;
    case Stage::Terminating: break;
  }
  return Group::Terminating;
}

std::uint32_t Pool::free_of(const PoolMember& member) const {
  const Group group = group_of(member);
  if (member.away || (group != Group::Ready && group != Group::Active)) return 0;
  const auto taken = static_cast<std::uint32_t>(member.sessions.size());
  return taken < slots_ ? slots_ - taken : 0;
}

void Pool::enter_groups(const PoolMember& member) {
  const Group group = group_of(member);
  const auto at = static_cast<std::size_t>(group);
  groups_[at].insert(member.number());
  if (member.edition.number != edition_) outdated_[at].insert(member.number());
  const std::uint32_t free = free_of(member);
  if (free > 0) open_.emplace(free, member.number());
  free_ += free;
  if (group == Group::Active) free_on_active_ += free;
}

void Pool::leave_groups(const PoolMember& member) {
  const Group group = group_of(member);
  const auto at = static_cast<std::size_t>(group);
  groups_[at].erase(member.number());
  if (member.edition.number != edition_) outdated_[at].erase(member.number());
  const std::uint32_t free = free_of(member);
  if (free > 0) open_.erase({free, member.number()});
  free_ -= free;
  if (group == Group::Active) free_on_active_ -= free;
}

}  // namespace berth::control
