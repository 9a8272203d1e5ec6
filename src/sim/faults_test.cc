#include "sim/faults.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/disk.h"

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

TEST(Disk, ThatLiesTakesBackTheLastOfWhatItAcknowledgedAtAPowerCut) {
  const std::string key = "key";
  std::set<std::string> found;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Disk disk{Random(seed)};
    ASSERT_TRUE(disk.commit({{key, "honest"}}));
    EXPECT_TRUE(disk.is_safe());
    disk.lie();
    ASSERT_TRUE(disk.commit({{key, "first lie"}}));
    ASSERT_TRUE(disk.commit({{key, "second lie"}}));
    EXPECT_EQ(*disk.store().get(key), "second lie");
    disk.cut_power();
    found.insert(**disk.store().get(key));
  }
  EXPECT_EQ(found, (std::set<std::string>{"honest", "first lie", "second lie"}));
}

TEST(Disk, ThatIsHealedKeepsWhatItHasSaid) {
  Disk disk{Random(1)};
  disk.lie();
  ASSERT_TRUE(disk.commit({{"key", "lie"}}));
  disk.heal();
  disk.cut_power();
  EXPECT_EQ(*disk.store().get("key"), "lie");
}

}  // namespace
}  // namespace berth::sim
