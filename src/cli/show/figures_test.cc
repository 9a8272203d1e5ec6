#include "cli/show/figures.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth::cli {
namespace {

TEST(Human, WritesSizesAsPeopleDo) {
  EXPECT_EQ(human(Bytes(0)), "0 B");
  EXPECT_EQ(human(Bytes(1023)), "1023 B");
  EXPECT_EQ(human(Bytes(128 << 20)), "128 MiB");
  EXPECT_EQ(human(Bytes(1536 << 20)), "1.5 GiB");
  EXPECT_EQ(human(Bytes((std::int64_t{1} << 30) - 1)), "1 GiB");
  EXPECT_EQ(human(Bytes(std::numeric_limits<std::int64_t>::max())), "8192 PiB");
  EXPECT_EQ(human(Dmips(300)), "300 DMIPS");
}

TEST(PercentOf, RoundsToTheNearestAndKnowsNothingOfNothing) {
  EXPECT_EQ(percent_of(1, 3), 33);
  EXPECT_EQ(percent_of(2, 3), 67);
  EXPECT_EQ(percent_of(5, 0), 0);
  EXPECT_EQ(percent_of(3, 2), 150);
}

TEST(Bar, DrawsSomethingNeverAsNothing) {
  const Style plain{};
  EXPECT_EQ(bar(0, 100, plain), "..........");
  EXPECT_EQ(bar(1, 100, plain), "#.........");
  EXPECT_EQ(bar(54, 100, plain), "#####.....");
  EXPECT_EQ(bar(200, 100, plain), "##########");
  EXPECT_EQ(bar(20, 100, {.colours = false, .unicode = true}), "██░░░░░░░░");
}

}  // namespace
}  // namespace berth::cli
