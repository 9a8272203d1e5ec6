#include "runtime/probing/trial.h"

#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

const ProbeResult kWorks;

struct Tried {
  Trial trial;
  Time now{};

  bool is_due(const std::string& identity) const { return trial.is_due(now, identity); }
  void fails(const std::string& identity) { trial.done(now, identity, compute_result("broken")); }
  void hangs(const std::string& identity) { trial.done(now, identity, probe_timed_out(500ms)); }
  void works(const std::string& identity) { trial.done(now, identity, kWorks); }
  // How long until it is tried again.
  Duration pause() {
    const Time begun = now;
    while (!is_due("a")) now += 100ms;
    return now - begun;
  }
};

TEST(Trial, WhatHasWorkedIsBelievedUntilItChanges) {
  Tried one;
  EXPECT_TRUE(one.is_due("a"));
  one.works("a");
  one.now += 1000h;
  EXPECT_FALSE(one.is_due("a"));
  EXPECT_TRUE(one.is_due("b"));
}

TEST(Trial, WhatFailsIsTriedAgainAfterAWhileThatGrowsUpToFiveMinutes) {
  Tried one;
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s}) {
    one.fails("a");
    EXPECT_EQ(one.pause(), pause);
  }
}

TEST(Trial, WhatHasChangedIsTriedAtOnceAndWithFreshPatience) {
  Tried one;
  for (int i = 0; i < 5; ++i) one.fails("a");
  EXPECT_TRUE(one.is_due("b"));
  one.fails("b");
  one.now += 1s;
  EXPECT_TRUE(one.is_due("b"));
}

TEST(Trial, WhatDoesNotAnswerInTimeIsTriedAgainAfterEightSecondsAtMost) {
  Tried one;
  for (const Duration pause : {1s, 2s, 4s, 8s, 8s}) {
    one.hangs("a");
    EXPECT_EQ(one.pause(), pause);
  }
}

TEST(Trial, WhatFailsForAnHourIsTriedAFewTimesOnly) {
  Tried one;
  int tries = 0;
  for (const Time end = one.now + 1h; one.now < end; one.now += 1s) {
    if (!one.is_due("a")) continue;
    one.fails("a");
    ++tries;
  }
  EXPECT_LE(tries, 20);
}

TEST(Trial, WhatFailsIsTriedAtOnceWhenThatMayHelpAndNoMoreOftenAfterwards) {
  Tried one;
  for (int i = 0; i < 5; ++i) one.fails("a");
  EXPECT_FALSE(one.is_due("a"));
  one.trial.reconsider();
  EXPECT_TRUE(one.is_due("a"));
  one.fails("a");
  EXPECT_EQ(one.pause(), 32s);
}

TEST(Trial, WhatHasWorkedIsNotTriedAgainForAHope) {
  Tried one;
  one.works("a");
  one.trial.reconsider();
  EXPECT_FALSE(one.is_due("a"));
}

TEST(Trial, WhatIsForgottenIsTriedAtOnce) {
  Tried one;
  one.works("a");
  one.trial.forget();
  EXPECT_TRUE(one.is_due("a"));
}

}  // namespace
}  // namespace berth::runtime
