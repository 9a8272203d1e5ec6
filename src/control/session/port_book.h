#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "control/session/port_bits.h"

namespace berth::control {

// The ports of one external address: who has been free for longest is given out first, exactly, so
// that late packets do not reach a stranger. No port is given to two, not even over a restart: a
// port is given out only when it is durable that it may be held.
//
// So ports are reserved ahead, those at the head of the queue, a block at a time: `to_write` says
// what has to be made durable, and `became_durable` that it is. What is written there is all that
// has to be kept of the book. A book that begins with it does not know which of those ports are
// held; it gives out none of them until it is settled.
//
// There is a book for each node, and most ports of most nodes are never used: those that were not
// touched yet are in no ring and take no memory. They have been free for longest.
//
// Everything is O(1) per port, but `to_write`, which is that for each port that is given out.
class PortBook {
 public:
  static constexpr std::size_t kBlock = 256;  // so many are reserved at once

  // Ports of `may_be_held` that are not of the range (it was another one) are kept as the others
  // are, and never given out again.
  explicit PortBook(PortRange range, const PortBits& may_be_held = {}, std::size_t block = kBlock);

  // All of them, or nullopt: too few are free, or what is reserved does not reach so far yet. The
  // latter if `free_count` says that there are enough: to be tried again after `became_durable`.
  std::optional<std::vector<std::uint16_t>> allocate(std::size_t count);
  std::size_t free_count() const { return free_; }

  // It has been free from now on. Of one that is not held nothing changes.
  void release(std::uint16_t port);
  // A stranger has it: it is not held, and tried only when there is no other. Of one that may be
  // held, and is not known to be, nothing changes.
  void set_aside(std::uint16_t port);
  // An agent says that it is held, whatever is known here. True: it was known to be held already.
  bool take(std::uint16_t port);

  // Those which are really held of those that may be. The others are free from now on, in the
  // order of their numbers.
  void settle(std::span<const std::uint16_t> held);

  // What is to be made durable in place of what was, if that is needed now: all that is held or may
  // be, and what is reserved. Until `became_durable` there is no other.
  std::optional<PortBits> to_write();
  void became_durable();

 private:
  enum class State : std::uint8_t {
    Fresh,  // free, and never touched: in no ring, but before all others in the order of its number
    Free,
    Aside,  // free, too
    Held,
    MayBeHeld,
    Retired,  // free, but not of the range any more
  };
  using Index = std::uint32_t;
  struct Entry {
    State state = State::Fresh;
    Index before = 0;
    Index after = 0;
  };

  // The rings of those that are free and not fresh; they come before the ports.
  static constexpr Index kFreeRing = 0;
  static constexpr Index kAsideRing = 1;
  static constexpr Index kRings = 2;
  Index first_free() const;
  Index next_fresh(Index from) const;  // that one or a later one; `end` if there is none
  Index end() const { return static_cast<Index>(all_.size() + kRings); }
  State state_of(Index index) const {
    return index < entries_.size() ? entries_[index].state : State::Fresh;
  }
  Entry& entry_of(Index index);
  Index after(Index index) const;  // the next that is free; `kAsideRing` at the end

  bool covers(std::uint16_t port) const { return all_.contains(port); }
  Index index_of(std::uint16_t port) const {
    return static_cast<Index>(port - all_.first + kRings);
  }
  std::uint16_t port_at(Index index) const {
    return static_cast<std::uint16_t>(index - kRings + all_.first);
  }
  bool is_free(Index index) const;
  bool is_ready(Index index) const { return durable_.contains(port_at(index)); }

  void hold(Index index);
  void free(Index index, State how);
  void unlink(Index index);
  void link_last(Index index, Index ring);
  bool needs_block();
  void ready_shrinks(std::size_t by);

  PortRange range_;
  PortRange all_;  // of which something is known; more than the range if that has changed
  std::size_t block_;
  std::vector<Entry> entries_;  // all beyond its end are fresh
  Index fresh_from_ = kRings;   // none before it is
  PortBits used_;               // that are held, or may be
  PortBits durable_;            // surely, whatever becomes of the write that is under way
  std::optional<PortBits> writing_;
  std::set<std::uint16_t> outside_;  // held, of which nothing was known
  std::size_t free_ = 0;
  std::size_t ready_ = 0;       // so many, at least, can be given out before something is written
  std::size_t asked_ = 0;       // for so many there was no answer yet
  bool has_unwritten_ = false;  // something is held that is not durable, nor being written
  bool is_looked_at_ = false;   // nothing has changed since `ready_` was counted
};

}  // namespace berth::control
