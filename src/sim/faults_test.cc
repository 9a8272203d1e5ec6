#include "sim/faults.h"

#include <gtest/gtest.h>

namespace berth::sim {
namespace {

TEST(Faults, AreReadAndWrittenAsWords) {
  EXPECT_EQ(*parse_faults("loss,crash"), (Faults{Fault::Loss, Fault::Crash}));
  EXPECT_EQ(*parse_faults("all"), all_faults());
  EXPECT_EQ(*parse_faults("none"), Faults{});
  EXPECT_EQ(to_string(*parse_faults("crash,loss")), "loss,crash");
  EXPECT_EQ(to_string(all_faults()), "all");
  EXPECT_EQ(to_string(Faults{}), "none");
  EXPECT_EQ(parse_faults("rust").error().code, Code::InvalidInput);
}

TEST(Faults, LeavingOneOutLeavesTheOthersAsTheyAre) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Rates all = draw_rates(all_faults(), Random(seed));
    const Rates crashes = draw_rates({Fault::Crash}, Random(seed));
    EXPECT_EQ(all.episodes.reboot_every, crashes.episodes.reboot_every);
    EXPECT_EQ(crashes.weather.loss, 0U);
    EXPECT_EQ(crashes.episodes.partition_every, Duration{});
  }
}

}  // namespace
}  // namespace berth::sim
