#include "control/session/port_book.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "base/random.h"

namespace berth::control {
namespace {

using Ports = std::vector<std::uint16_t>;

void write_all(PortBook& book) {
  while (book.to_write()) book.became_durable();
}

std::uint16_t allocate_one(PortBook& book) {
  const auto ports = book.allocate(1);
  return ports ? ports->front() : 0;
}

TEST(PortBook, GivesOutNothingBeforeItIsDurable) {
  PortBook book({20000, 29999});
  EXPECT_EQ(book.allocate(1), std::nullopt);
  EXPECT_EQ(book.free_count(), 10'000U);
  const auto bits = book.to_write();
  ASSERT_TRUE(bits);
  EXPECT_EQ(bits->span(), (PortRange{20000, 20255 + 1})) << "a block, and what was asked for";
  EXPECT_EQ(book.allocate(1), std::nullopt);
  EXPECT_EQ(book.to_write(), std::nullopt) << "one at a time";
  book.became_durable();
  EXPECT_EQ(book.allocate(2), (Ports{20000, 20001}));
}

TEST(PortBook, ReservesAheadWhenHalfABlockIsLeft) {
  PortBook book({20000, 29999});
  write_all(book);
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(allocate_one(book), 20000 + i);
    EXPECT_EQ(book.to_write(), std::nullopt);
  }
  EXPECT_EQ(allocate_one(book), 20128);
  book.release(20000);
  const auto bits = book.to_write();
  ASSERT_TRUE(bits);
  EXPECT_EQ(bits->span(), (PortRange{20001, 20129 + 255})) << "what is free is no longer kept";
  for (int i = 129; i < 256; ++i) EXPECT_EQ(allocate_one(book), 20000 + i) << "meanwhile";
  EXPECT_EQ(allocate_one(book), 0);
  book.became_durable();
  EXPECT_EQ(allocate_one(book), 20256);
}

TEST(PortBook, TheLongestFreeComesFirst) {
  PortBook book({1, 4});
  write_all(book);
  EXPECT_EQ(book.allocate(3), (Ports{1, 2, 3}));
  book.release(2);
  book.release(1);
  EXPECT_EQ(book.to_write(), std::nullopt) << "what is durable needs no write";
  EXPECT_EQ(book.allocate(3), (Ports{4, 2, 1}));
  EXPECT_EQ(book.allocate(1), std::nullopt);
  book.release(4);
  EXPECT_EQ(book.allocate(2), std::nullopt) << "all or nothing";
  EXPECT_EQ(book.allocate(0), Ports{});
  EXPECT_EQ(book.allocate(1), Ports{4});
}

TEST(PortBook, WhatAStrangerHasIsTriedLast) {
  PortBook book({1, 4});
  write_all(book);
  EXPECT_EQ(allocate_one(book), 1);
  book.set_aside(1);
  book.set_aside(3);
  EXPECT_EQ(book.allocate(2), (Ports{2, 4}));
  book.release(4);
  EXPECT_EQ(book.allocate(3), (Ports{4, 1, 3}));
  book.release(3);
  book.release(2);
  EXPECT_EQ(book.allocate(2), (Ports{3, 2})) << "as all others once it was held";
}

TEST(PortBook, MoreThanABlockCanBeAskedFor) {
  PortBook book({20000, 29999});
  write_all(book);
  EXPECT_EQ(book.allocate(1000), std::nullopt);
  write_all(book);
  const auto ports = book.allocate(1000);
  ASSERT_TRUE(ports);
  EXPECT_EQ(ports->back(), 20999);
  write_all(book);
  EXPECT_TRUE(book.allocate(130)) << "with less than that left";
  EXPECT_EQ(book.allocate(150), std::nullopt);
  write_all(book);
  EXPECT_TRUE(book.allocate(150));
}

TEST(PortBook, WhatMayBeHeldComesLastAndNotBeforeItIsSettled) {
  PortBits bits({1, 5});
  for (const std::uint16_t port : Ports{1, 2, 4}) bits.insert(port);
  PortBook book({1, 5}, bits);
  write_all(book);
  EXPECT_EQ(book.free_count(), 2U);
  EXPECT_EQ(book.allocate(2), (Ports{3, 5}));
  book.release(4);
  book.set_aside(4);
  EXPECT_EQ(book.free_count(), 0U) << "nobody knows yet";
  EXPECT_FALSE(book.take(2));
  EXPECT_TRUE(book.take(2));
  book.release(3);
  book.settle({});
  EXPECT_EQ(book.allocate(3), (Ports{3, 1, 4}));
}

TEST(PortBook, WhatAnAgentSaysIsHeldAndWritten) {
  PortBook book({20000, 29999});
  write_all(book);
  EXPECT_FALSE(book.take(20000));
  EXPECT_EQ(book.to_write(), std::nullopt);
  EXPECT_FALSE(book.take(25000));
  const auto bits = book.to_write();
  ASSERT_TRUE(bits);
  EXPECT_TRUE(bits->contains(25000));
  EXPECT_EQ(allocate_one(book), 20001);
  EXPECT_FALSE(book.take(80)) << "not of the range";
  EXPECT_TRUE(book.take(80));
  book.release(80);
  EXPECT_FALSE(book.take(80));
}

TEST(PortBook, PortsOfAnEarlierRangeAreKeptUntilTheyAreFree) {
  PortBits bits({10, 12});
  for (const std::uint16_t port : Ports{10, 11, 12}) bits.insert(port);
  PortBook book({12, 13}, bits);
  const auto written = book.to_write();
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->contains(10));
  book.became_durable();
  const Ports held{11};
  book.settle(held);
  EXPECT_TRUE(book.take(11));
  EXPECT_EQ(book.allocate(2), (Ports{13, 12}));
  book.release(11);
  EXPECT_EQ(book.free_count(), 0U);
  book.take(13);
}

TEST(PortBook, WhatAWriteUnderWayMayHaveClearedIsNotGivenOut) {
  PortBits bits({1, 10});
  for (std::uint16_t port = 1; port <= 9; ++port) bits.insert(port);
  PortBook book({1, 10}, bits, 2);
  book.settle({});
  book.take(10);
  const auto written = book.to_write();
  ASSERT_TRUE(written);
  EXPECT_FALSE(written->contains(3));
  EXPECT_EQ(book.allocate(3), std::nullopt);
  EXPECT_EQ(book.allocate(2), (Ports{1, 2}));
}

// --- Against a model that is plainly right -----------------------------------------------------

// The same promises by lists that are searched. It also knows what really is held, over restarts.
class World {
 public:
  World(std::uint64_t seed, PortRange range, std::size_t block)
      : random_(seed), range_(range), block_(block), book_(range, {}, block) {
    for (int port = range.first; port <= range.last; ++port) {
      free_.push_back(static_cast<std::uint16_t>(port));
    }
  }

  void act() {
    switch (random_.below(16)) {
      case 0: return restart();
      case 1: return settle();
      case 2: return set_aside();
      case 3: return take();
      case 4:
      case 5:
      case 6: return write();
      case 7:
      case 8: return become_durable();
      case 9:
      case 10:
      case 11:
      case 12: return release(random_.below(8) == 0 ? held_.size() : 1);
      default: return allocate(random_.below(bold_) == 0 ? random_.below(60) : random_.below(4));
    }
  }

  void check() const {
    ASSERT_EQ(book_.free_count(), free_.size() + aside_.size());
    ASSERT_EQ(free_.size() + aside_.size() + held_.size() + unknown_.size(), range_.size())
        << "nothing is lost";
    for (const std::uint16_t port : held_) {
      ASSERT_TRUE(disk_.contains(port) || unwritten_.contains(port)) << port;
    }
  }

  // When nothing disturbs, whatever is free can be had.
  void come_to_rest() {
    if (writing_) become_durable();
    settle();
    while (held_.size() < range_.size()) {
      const std::size_t held = held_.size();
      allocate(1);
      write();
      const bool was_needed = writing_.has_value();
      become_durable();
      ASSERT_TRUE(was_needed || held_.size() > held) << "there is nothing to wait for";
    }
  }

 private:
  using Set = std::set<std::uint16_t>;

  std::uint16_t any_of(const Set& ports) {
    return *std::next(ports.begin(), static_cast<std::ptrdiff_t>(random_.below(ports.size())));
  }
  std::uint16_t any_port() {
    return static_cast<std::uint16_t>(random_.between(range_.first, range_.last));
  }
  // Whatever becomes of the write under way.
  bool is_durable(std::uint16_t port) const {
    return disk_.contains(port) && (!writing_ || writing_->contains(port));
  }
  void forget_free(std::uint16_t port) {
    std::erase(free_, port);
    std::erase(aside_, port);
  }

  void allocate(std::size_t count) {
    Ports wanted(free_.begin(), free_.end());
    wanted.insert(wanted.end(), aside_.begin(), aside_.end());
    const bool can =
        wanted.size() >= count &&
        std::all_of(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(count),
                    [&](std::uint16_t port) { return is_durable(port); });
    const auto given = book_.allocate(count);
    ASSERT_EQ(given.has_value(), can);
    if (!can) return;
    wanted.resize(count);
    ASSERT_EQ(*given, wanted);
    for (const std::uint16_t port : wanted) {
      ASSERT_TRUE(held_.insert(port).second) << "held twice";
      forget_free(port);
    }
  }

  void release(std::size_t count) {
    for (; count > 0 && !held_.empty(); --count) {
      const std::uint16_t port = any_of(held_);
      book_.release(port);
      held_.erase(port);
      unwritten_.erase(port);
      free_.push_back(port);
    }
  }

  void set_aside() {
    const std::uint16_t port = any_port();
    book_.set_aside(port);
    if (unknown_.contains(port)) return;
    held_.erase(port);
    unwritten_.erase(port);
    forget_free(port);
    aside_.push_back(port);
  }

  void take() {
    const std::uint16_t port = any_port();
    ASSERT_EQ(book_.take(port), held_.contains(port));
    mark_taken(port);
  }

  void mark_taken(std::uint16_t port) {
    forget_free(port);
    unknown_.erase(port);
    truly_held_.erase(port);
    held_.insert(port);
    if (!disk_.contains(port)) unwritten_.insert(port);
    if (writing_ && !writing_->contains(port)) unwritten_.insert(port);
  }

  void write() {
    const auto bits = book_.to_write();
    if (!bits) return;
    ASSERT_FALSE(writing_);
    const auto again = PortBits::parse(bits->text());
    ASSERT_EQ(again, bits);
    writing_.emplace();
    for (int port = range_.first; port <= range_.last; ++port) {
      if (again->contains(static_cast<std::uint16_t>(port))) {
        writing_->insert(static_cast<std::uint16_t>(port));
      }
    }
    for (const std::uint16_t port : held_) ASSERT_TRUE(writing_->contains(port));
    for (const std::uint16_t port : unknown_) ASSERT_TRUE(writing_->contains(port));
    bits_ = *bits;
  }

  void become_durable() {
    if (!writing_) return;
    book_.became_durable();
    disk_ = *std::exchange(writing_, std::nullopt);
    disk_bits_ = bits_;
    std::erase_if(unwritten_, [&](std::uint16_t port) { return disk_.contains(port); });
  }

  // The write under way may have reached the disk or not.
  void restart() {
    if (random_.below(4) != 0) return;
    if (writing_ && random_.below(2) == 0) {
      disk_ = *writing_;
      disk_bits_ = bits_;
    }
    writing_.reset();
    book_ = PortBook(range_, disk_bits_, block_);
    truly_held_.insert(held_.begin(), held_.end());
    held_.clear();
    unwritten_.clear();
    unknown_ = disk_;
    free_.clear();
    aside_.clear();
    for (int port = range_.first; port <= range_.last; ++port) {
      if (!disk_.contains(static_cast<std::uint16_t>(port))) {
        free_.push_back(static_cast<std::uint16_t>(port));
      }
    }
    // What was never written is only known to who holds it, and has to be told first.
    for (const std::uint16_t port : Set(truly_held_)) {
      if (disk_.contains(port)) continue;
      ASSERT_FALSE(book_.take(port));
      mark_taken(port);
    }
  }

  void settle() {
    const Ports held(truly_held_.begin(), truly_held_.end());
    book_.settle(held);
    for (const std::uint16_t port : held) mark_taken(port);
    free_.insert(free_.end(), unknown_.begin(), unknown_.end());
    unknown_.clear();
  }

  Random random_;
  const PortRange range_;
  const std::size_t block_;
  const std::uint64_t bold_ = 4 + random_.below(200);  // how seldom many are asked for
  PortBook book_;
  std::deque<std::uint16_t> free_;
  std::deque<std::uint16_t> aside_;
  Set held_;
  Set unwritten_;   // of those, what an agent has told and no disk knows
  Set unknown_;     // may be held
  Set truly_held_;  // since before the restart, of those
  Set disk_;
  std::optional<Set> writing_;
  PortBits disk_bits_;
  PortBits bits_;
};

TEST(PortBook, AgreesWithAPlainModelOverRandomHistoriesAndRestarts) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const auto last = static_cast<std::uint16_t>(random.between(100, 160));
    World world(seed, {100, last}, static_cast<std::size_t>(random.between(1, 20)));
    for (int i = 0; i < 400; ++i) {
      world.act();
      world.check();
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " action " << i;
    }
    world.come_to_rest();
    if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::control
