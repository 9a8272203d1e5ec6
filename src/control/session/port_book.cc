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
      entries_(all_.size() + 2),
      used_(all_),
      durable_(all_) {
  for (const Index ring : {free_ring(), aside_ring()}) entries_[ring].before = ring;
  for (const Index ring : {free_ring(), aside_ring()}) entries_[ring].after = ring;
  for (Index index = 0; index < all_.size(); ++index) {
    const std::uint16_t port = port_at(index);
    if (may_be_held.contains(port)) {
      used_.insert(port);
      durable_.insert(port);
      entries_[index].state = State::MayBeHeld;
    } else {
      free(index, State::Free);
    }
  }
}

PortBook::Index PortBook::first_free() const { return after(free_ring()); }

PortBook::Index PortBook::after(Index index) const {
  const Index next = entries_[index].after;
  return next == free_ring() ? entries_[aside_ring()].after : next;
}

bool PortBook::is_free(Index index) const {
  return entries_[index].state == State::Free || entries_[index].state == State::Aside;
}

void PortBook::unlink(Index index) {
  Entry& entry = entries_[index];
  entries_[entry.before].after = entry.after;
  entries_[entry.after].before = entry.before;
  --free_;
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
  entries_[index].state = State::Held;
  used_.insert(port_at(index));
}

// It goes before those that are set aside: if it is not ready they have to wait for it.
void PortBook::free(Index index, State how) {
  const bool is_known = range_.contains(port_at(index));
  entries_[index].state = is_known ? how : State::Retired;
  used_.erase(port_at(index));
  if (is_known) link_last(index, how == State::Aside ? aside_ring() : free_ring());
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
  if (entries_[index].state == State::Held) free(index, State::Free);
}

void PortBook::set_aside(std::uint16_t port) {
  if (!covers(port)) return void(outside_.erase(port));
  const Index index = index_of(port);
  const State state = entries_[index].state;
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
  if (entries_[index].state == State::Held) return true;
  hold(index);
  const bool is_written = is_ready(index) || (writing_ && writing_->contains(port));
  if (!is_written) has_unwritten_ = true;
  return false;
}

void PortBook::settle(std::span<const std::uint16_t> held) {
  for (const std::uint16_t port : held) take(port);
  for (Index index = 0; index < all_.size(); ++index) {
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
