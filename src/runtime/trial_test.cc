#include "runtime/trial.h"

#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

const ProbeResult kWorks;

struct Tried {
  Trial trial;
  Time now{};

  bool is_due(const std::string& identity) const { return trial.is_due(now, identity); }
  void fails(const std::string& identity) { trial.done(now, identity, compute_result("broken")); }
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

TEST(Trial, WhatFailsIsTriedAgainAfterAWhileThatGrowsUpToHalfAMinute) {
  Tried one;
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
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

TEST(Trial, WhatIsForgottenIsTriedAtOnce) {
  Tried one;
  one.works("a");
  one.trial.forget();
  EXPECT_TRUE(one.is_due("a"));
}

}  // namespace
}  // namespace berth::runtime
