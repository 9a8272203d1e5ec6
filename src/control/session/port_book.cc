#include "control/session/port_book.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace berth::control {
namespace {

PortRange both(PortRange range, const std::optional<PortRange>& other) {
  if (!other) return range;
  return {std::min(range.first, other->first), std::max(range.last, other->last)};
}

}  // namespace

PortBook::PortBook(PortRange range, const PortBits& may_be_held, std::size_t block)
    : range_(range),
      all_(both(range, may_be_held.span())),
      block_(block),
      entries_(kRings),
      used_(all_),
      durable_(all_) {
  for (const Index ring : {kFreeRing, kAsideRing}) entries_[ring] = {State::Retired, ring, ring};
  for (Index index = kRings; index < end(); ++index) {
    const std::uint16_t port = port_at(index);
    if (may_be_held.contains(port)) {
      used_.insert(port);
      durable_.insert(port);
      entry_of(index).state = State::MayBeHeld;
    } else if (!range_.contains(port)) {
      entry_of(index).state = State::Retired;
    } else {
      ++free_;
    }
  }
}

PortBook::Entry& PortBook::entry_of(Index index) {
  if (index >= entries_.size()) entries_.resize(index + 1);
  return entries_[index];
}

PortBook::Index PortBook::next_fresh(Index from) const {
  while (from < end() && state_of(from) != State::Fresh) ++from;
  return from;
}

PortBook::Index PortBook::first_free() const {
  const Index fresh = next_fresh(fresh_from_);
  return fresh < end() ? fresh : after(kFreeRing);
}

PortBook::Index PortBook::after(Index index) const {
  if (state_of(index) == State::Fresh) {
    const Index fresh = next_fresh(index + 1);
    return fresh < end() ? fresh : after(kFreeRing);
  }
  const Index next = entries_[index].after;
  return next == kFreeRing ? entries_[kAsideRing].after : next;
}

bool PortBook::is_free(Index index) const {
  const State state = state_of(index);
  return state == State::Fresh || state == State::Free || state == State::Aside;
}

// The caller says what it is from now on.
void PortBook::unlink(Index index) {
  --free_;
  const Entry entry = entry_of(index);
  if (entry.state == State::Fresh) return;
  entries_[entry.before].after = entry.after;
  entries_[entry.after].before = entry.before;
}

void PortBook::link_last(Index index, Index ring) {
  Entry& entry = entries_[index];
  entry.before = entries_[ring].before;
  entry.after = ring;
  entries_[entry.before].after = index;
  entries_[ring].before = index;
  ++free_;
}

void PortBook::ready_shrinks(std::size_t by) {
  ready_ -= std::min(ready_, by);
  is_looked_at_ = false;
}

void PortBook::hold(Index index) {
  if (is_free(index)) {
    unlink(index);
    ready_shrinks(1);
  }
  entry_of(index).state = State::Held;
  used_.insert(port_at(index));
  fresh_from_ = next_fresh(fresh_from_);
}

// It goes before those that are set aside: if it is not ready they have to wait for it.
void PortBook::free(Index index, State how) {
  const bool is_known = range_.contains(port_at(index));
  entry_of(index).state = is_known ? how : State::Retired;
  used_.erase(port_at(index));
  if (is_known) link_last(index, how == State::Aside ? kAsideRing : kFreeRing);
  ready_shrinks(is_ready(index) ? 0 : ready_);
}

std::optional<std::vector<std::uint16_t>> PortBook::allocate(std::size_t count) {
  if (count > free_) return std::nullopt;
  std::vector<std::uint16_t> ports;
  ports.reserve(count);
  for (Index next = first_free(); ports.size() < count; next = after(next)) {
    if (!is_ready(next)) {
      asked_ = std::max(asked_, count);
      ready_ = ports.size();
      is_looked_at_ = false;
      return std::nullopt;
    }
    ports.push_back(port_at(next));
  }
  for (const std::uint16_t port : ports) hold(index_of(port));
  if (count >= asked_) asked_ = 0;
  return ports;
}

void PortBook::release(std::uint16_t port) {
  if (!covers(port)) return void(outside_.erase(port));
  const Index index = index_of(port);
  if (state_of(index) == State::Held) free(index, State::Free);
}

void PortBook::set_aside(std::uint16_t port) {
  if (!covers(port)) return void(outside_.erase(port));
  const Index index = index_of(port);
  const State state = state_of(index);
  if (state == State::MayBeHeld || state == State::Retired) return;
  if (is_free(index)) {
    unlink(index);
    ready_shrinks(1);
  }
  free(index, State::Aside);
}

bool PortBook::take(std::uint16_t port) {
  if (!covers(port)) return !outside_.insert(port).second;
  const Index index = index_of(port);
  if (state_of(index) == State::Held) return true;
  hold(index);
  const bool is_written = is_ready(index) || (writing_ && writing_->contains(port));
  if (!is_written) has_unwritten_ = true;
  return false;
}

void PortBook::settle(std::span<const std::uint16_t> held) {
  for (const std::uint16_t port : held) take(port);
  for (Index index = kRings; index < entries_.size(); ++index) {
    if (entries_[index].state == State::MayBeHeld) free(index, State::Free);
  }
}

// Counts only when what is known to be ready is not enough, and each time after a change at most.
bool PortBook::needs_block() {
  const std::size_t low = std::min(std::max(block_ / 2, asked_), free_);
  if (ready_ >= low || is_looked_at_) return false;
  is_looked_at_ = true;
  ready_ = 0;
  for (Index next = first_free(); ready_ < block_ + asked_ && ready_ < free_; next = after(next)) {
    if (!is_ready(next)) break;
    ++ready_;
  }
  return ready_ < low;
}

std::optional<PortBits> PortBook::to_write() {
  if (writing_ || (!has_unwritten_ && !needs_block())) return std::nullopt;
  PortBits bits = used_;
  std::size_t reserved = 0;
  for (Index next = first_free(); reserved < block_ + asked_ && reserved < free_;
       next = after(next)) {
    bits.insert(port_at(next));
    ++reserved;
  }
  ready_ = std::min(ready_, reserved);
  durable_.intersect(bits);
  writing_ = bits;
  has_unwritten_ = false;
  return bits;
}

void PortBook::became_durable() {
  CHECK(writing_.has_value(), "something was to be written");
  durable_ = *std::exchange(writing_, std::nullopt);
  is_looked_at_ = false;
}

}  // namespace berth::control
