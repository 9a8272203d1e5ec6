#include "shell/periodic.h"

#include <gtest/gtest.h>

#include <latch>

namespace berth::shell {
namespace {

TEST(Periodic, TheFirstTurnComesAtOnceAndOthersFollow) {
  std::latch thrice(3);
  std::atomic<int> turns = 0;
  const Periodic periodic(1ms, [&] {
    if (++turns <= 3) thrice.count_down();
  });
  thrice.wait();
}

TEST(Periodic, AHurriedTurnDoesNotWait) {
  std::latch twice(2);
  std::atomic<int> turns = 0;
  Periodic periodic(1h, [&] {
    if (++turns <= 2) twice.count_down();
  });
  periodic.hurry();
  twice.wait();
}

TEST(Periodic, EndsWithoutWaitingForTheNextTurn) {
  const Periodic periodic(24h, [] {});
}

}  // namespace
}  // namespace berth::shell
