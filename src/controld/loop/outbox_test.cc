#include "controld/loop/outbox.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace berth::controld {
namespace {

using Changes = std::vector<store::Change>;

// What may leave now.
std::string leaving(Outbox<char>& outbox) {
  std::string all;
  while (const auto step = outbox.leave()) all += *step;
  return all;
}

TEST(Outbox, AStepWithoutChangesLeavesAtOnce) {
  Outbox<char> outbox;
  outbox.seal({}, 'a');
  EXPECT_EQ(leaving(outbox), "a");
  EXPECT_EQ(outbox.begin_commit(), nullptr);
}

TEST(Outbox, AStepLeavesWhenItsChangesAreDurable) {
  Outbox<char> outbox;
  outbox.seal({{"k", "1"}}, 'a');
  EXPECT_EQ(leaving(outbox), "");
  ASSERT_NE(outbox.begin_commit(), nullptr);
  EXPECT_EQ(leaving(outbox), "") << "it is being written";
  outbox.commit_done();
  EXPECT_EQ(leaving(outbox), "a");
}

TEST(Outbox, NobodyOvertakes) {
  Outbox<char> outbox;
  outbox.seal({{"k", "1"}}, 'a');
  outbox.seal({}, 'b');
  EXPECT_EQ(leaving(outbox), "");
  outbox.begin_commit();
  outbox.seal({}, 'c');
  outbox.seal({{"k", "2"}}, 'd');
  outbox.seal({}, 'e');
  EXPECT_EQ(leaving(outbox), "");
  outbox.commit_done();
  EXPECT_EQ(leaving(outbox), "abc") << "and d is not durable";
  outbox.begin_commit();
  outbox.commit_done();
  EXPECT_EQ(leaving(outbox), "de");
}

TEST(Outbox, OneCommitAtATimeAndWhatWaitsIsTheNext) {
  Outbox<char> outbox;
  outbox.seal({{"k", "1"}, {"l", "1"}}, 'a');
  EXPECT_EQ(*outbox.begin_commit(), (Changes{{"k", "1"}, {"l", "1"}}));
  outbox.seal({{"k", "2"}, {"m", "2"}}, 'b');
  outbox.seal({{"k", "3"}, {"l", std::nullopt}}, 'c');
  EXPECT_EQ(outbox.begin_commit(), nullptr);
  outbox.commit_done();
  EXPECT_EQ(*outbox.begin_commit(), (Changes{{"k", "3"}, {"l", std::nullopt}, {"m", "2"}}))
      << "of each key the last";
}

TEST(Outbox, ACommitThatFailedIsTheSameAgain) {
  Outbox<char> outbox;
  outbox.seal({{"k", "1"}}, 'a');
  outbox.begin_commit();
  outbox.commit_failed();
  outbox.seal({{"k", "2"}}, 'b');
  EXPECT_EQ(leaving(outbox), "");
  EXPECT_EQ(*outbox.begin_commit(), (Changes{{"k", "1"}}));
  outbox.commit_done();
  EXPECT_EQ(leaving(outbox), "a");
}

TEST(Outbox, IsFullOfSteps) {
  Outbox<char> outbox({.steps = 2});
  outbox.seal({{"k", "1"}}, 'a');
  EXPECT_FALSE(outbox.is_full());
  outbox.seal({}, 'b');
  EXPECT_TRUE(outbox.is_full());
  outbox.begin_commit();
  EXPECT_TRUE(outbox.is_full());
  outbox.commit_done();
  EXPECT_EQ(leaving(outbox), "ab");
  EXPECT_FALSE(outbox.is_full());
}

TEST(Outbox, IsFullOfBytes) {
  Outbox<char> outbox({.bytes = 100});
  outbox.seal({{"k", std::string(90, 'x')}}, 'a');
  outbox.seal({{"k", std::string(80, 'x')}}, 'b');
  EXPECT_FALSE(outbox.is_full()) << "one replaces the other";
  outbox.begin_commit();
  outbox.seal({{"k", std::string(80, 'x')}}, 'c');
  EXPECT_TRUE(outbox.is_full());
  outbox.commit_done();
  EXPECT_FALSE(outbox.is_full());
}

// Against a list of all changes and how many of them are on disk.
TEST(Outbox, NothingLeavesBeforeItIsOnDisk) {
  Random random(7);
  Outbox<std::size_t> outbox;
  std::vector<std::map<std::string, std::string>> after;  // each step, what there should be
  std::map<std::string, std::string> disk;
  std::size_t left = 0;
  const Changes* batch = nullptr;
  for (int i = 0; i < 5'000; ++i) {
    switch (random.below(4)) {
      case 0:
      case 1: {
        Changes changes(random.below(3));
        after.push_back(after.empty() ? disk : after.back());
        for (store::Change& change : changes) {
          change = {std::string(1, static_cast<char>('a' + random.below(4))), std::to_string(i)};
          after.back()[change.key] = *change.value;
        }
        outbox.seal(std::move(changes), after.size() - 1);
        break;
      }
      case 2: batch = batch == nullptr ? outbox.begin_commit() : batch; break;
      default:
        if (batch == nullptr) break;
        if (random.below(4) == 0) {
          outbox.commit_failed();
        } else {
          for (const store::Change& change : *batch) disk[change.key] = *change.value;
          outbox.commit_done();
        }
        batch = nullptr;
    }
    while (const auto step = outbox.leave()) {
      ASSERT_EQ(*step, left++);
      for (const auto& [key, value] : after[*step]) {
        ASSERT_GE(std::stoi(disk[key]), std::stoi(value)) << "step " << *step;
      }
    }
  }
  EXPECT_GT(left, 1'000u);
}

}  // namespace
}  // namespace berth::controld
