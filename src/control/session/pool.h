#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/application.h"
#include "model/item.h"
#include "model/pool.h"

namespace berth::control {

// What an application asks its instances to be. Whoever runs another one is replaced.
struct PoolEdition {
  std::uint64_t number = 0;
  std::shared_ptr<const model::Item> item;
};

// One instance of a pool, from the moment that it is asked for until its agent says that it is
// gone.
struct PoolMember {
  enum class Stage {
    Asked,     // has no place
    Placed,    // its node was not told: there is no room yet, or no connection
    Starting,  // its node was told
    Running,   // ready, or active if it has sessions
    Pausing,
    Standby,
    Waking,       // for a session that waits
    Terminating,  // told to end, or to be told
  };

  model::InstanceKey key;
  PoolEdition edition;
  Stage stage = Stage::Asked;
  std::optional<model::Place> place;
  std::uint32_t image = 0;
  std::uint32_t uid = 0;
  bool for_standby = false;  // it stands still as soon as it runs
  bool away = false;         // its node cannot be told anything now: it gets no new session
  bool drained = false;      // by its node
  bool leaves = false;       // it is replaced elsewhere; it serves on until then
  bool cannot_pause = false;
  bool left_alone = false;  // it does not fit where it is, and had sessions when that was seen
  Time since;               // of its stage
  Time given_up_at;         // Starting: when it counts as lost
  Duration grace{};         // Terminating
  model::Problem problem;   // Asked: why it has no place; Terminating: why it ends
  std::set<model::SessionRef> sessions = {};  // that it serves, also those that are being closed
  std::vector<model::SessionPort> ports = {};

  std::uint32_t number() const { return key.index; }
};

// The instances of one application, by what they are good for. Every change of a member goes
// through `change`, so that the groups and their sizes are always those of the members.
class Pool {
 public:
  enum class Group {
    Unplaced,       // pending, without a place
    Pending,        // placed, and not yet ready
    MakingStandby,  // the same, and to stand still once it is
    Ready,
    Active,
    Standby,
    Leaving,  // replaced elsewhere: neither counted nor given to anybody new
    Terminating,
  };

  PoolMember& add(PoolMember member);
  void erase(std::uint32_t number);
  // nullptr: there is none.
  const PoolMember* find(std::uint32_t number) const;
  const std::map<std::uint32_t, PoolMember>& members() const { return members_; }
  bool empty() const { return members_.empty(); }

  template <class Change>
  void change(std::uint32_t number, Change change) {
    PoolMember& member = members_.at(number);
    leave_groups(member);
    change(member);
    enter_groups(member);
  }

  // Ordered by number, which is by age.
  const std::set<std::uint32_t>& of(Group group) const {
    return groups_[static_cast<std::size_t>(group)];
  }
  std::uint32_t count(Group group) const { return static_cast<std::uint32_t>(of(group).size()); }

  // The one that the next session goes to: the fullest that has a free slot, then the oldest.
  std::optional<std::uint32_t> free_slot() const;
  std::uint32_t free_slots() const { return free_; }
  std::uint32_t free_slots_on_active() const { return free_on_active_; }
  // REQUIRES: no member.
  void set_slots(std::uint32_t per_instance);
  std::uint32_t slots() const { return slots_; }

  // Whoever is of another edition is outdated from now on.
  void set_edition(std::uint64_t number);
  const std::set<std::uint32_t>& outdated(Group group) const {
    return outdated_[static_cast<std::size_t>(group)];
  }

  static Group group_of(const PoolMember& member);

 private:
  static constexpr std::size_t kGroups = 8;

  void enter_groups(const PoolMember& member);
  void leave_groups(const PoolMember& member);
  std::uint32_t free_of(const PoolMember& member) const;

  std::uint32_t slots_ = 1;
  std::uint64_t edition_ = 0;
  std::map<std::uint32_t, PoolMember> members_;
  std::set<std::uint32_t> groups_[kGroups];
  std::set<std::uint32_t> outdated_[kGroups];               // of those
  std::set<std::pair<std::uint32_t, std::uint32_t>> open_;  // free slots, number: of those with any
  std::uint32_t free_ = 0;
  std::uint32_t free_on_active_ = 0;
};

}  // namespace berth::control
