#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/driver.h"

// Shared resources of which a node has only so many.
namespace berth::agent {
namespace {

using ::testing::UnorderedElementsAre;
using Items = std::vector<std::string>;

NodeObserved a_node_with_a_camera(std::uint32_t count = 1) {
  NodeObserved node = a_node();
  node.info.shared_resources = {{"camera", count}};
  return node;
}

// "old" runs and holds the camera.
Driver a_driver_whose_camera_is_taken() {
  Driver driver = a_driver();
  driver.tell(a_node_with_a_camera(), a_full_command(1, {a_spec("old").holding("camera")}));
  driver.tell(Started{key_of("old"), {number(1), 0}});
  return driver;
}

TEST(SharedUse, OneThatStopsHoldsItUntilItHasEnded) {
  Driver driver = a_driver_whose_camera_is_taken();
  driver.tell(a_full_command(2, {a_spec("new").holding("camera")}));
  EXPECT_EQ(driver.actions<Stop>().size(), 1U);
  EXPECT_EQ(driver.started_items(), Items{});
  driver.tell(Exited{key_of("old"), {number(1), 0}, 143, {}});
  EXPECT_EQ(driver.started_items(), Items{"new"});
}

TEST(SharedUse, SoDoesTheFormerEditionOfOneThatNoLongerAsksForIt) {
  Driver driver = a_driver_whose_camera_is_taken();
  // Whichever is scheduled first.
  driver.tell(a_full_command(2, {a_spec("old").env("EDITION", "2").priority(1),
                                 a_spec("new").holding("camera").priority(2)}));
  EXPECT_EQ(driver.started_items(), Items{});
  driver.tell(Exited{key_of("old"), {number(1), 0}, 143, {}});
  EXPECT_THAT(driver.started_items(), UnorderedElementsAre("new", "old"));
}

TEST(SharedUse, WhatIsThereOftenEnoughIsNotWaitedFor) {
  Driver driver = a_driver_whose_camera_is_taken();
  driver.tell(a_node_with_a_camera(2), a_full_command(2, {a_spec("new").holding("camera")}));
  EXPECT_EQ(driver.started_items(), Items{"new"});
}

TEST(SharedUse, WhatNobodyIsAboutToGiveBackIsNotWaitedForEither) {
  Driver driver = a_driver_whose_camera_is_taken();
  driver.tell(a_partial_command(2, {a_spec("new").holding("camera")}));
  EXPECT_EQ(driver.started_items(), Items{"new"});  // the controller must know why
}

TEST(SharedUse, ARunOfAnEarlierLifeMayHoldAnything) {
  Driver driver = a_driver_whose_camera_is_taken();
  driver.tell(a_full_command(
      2, {a_spec("old").env("EDITION", "2"), a_spec("new").holding("camera"), a_spec("other")}));
  driver.restart();
  driver.tell(Connected{2}, a_node_with_a_camera(),
              a_list("crun", {a_found("old", {number(1), 0})}));
  EXPECT_EQ(driver.started_items(), Items{"other"});
  driver.tell(Exited{key_of("old"), {number(1), 0}, 143, {}});
  EXPECT_THAT(driver.started_items(), UnorderedElementsAre("new", "old"));
}

// What runs and what an older store wants were never decided together.
TEST(SharedUse, InDoubtItIsLeftToWhatRuns) {
  Restored restored;
  restored.acted = number(2);
  restored.wanted[key_of("old")] = {a_spec("old").holding("camera"), number(2), false, {}};
  restored.in_doubt = true;
  Driver driver(a_config(), restored);
  const RunId run{number(9), 0};
  driver.tell(Connected{1}, a_node_with_a_camera(),
              a_list("crun", {a_found(a_spec("new").holding("camera"), run)}));
  driver.wait(60s);
  EXPECT_EQ(driver.started_items(), Items{});
  driver.tell(a_full_command(10, {a_spec("old").holding("camera")}));
  driver.tell(Exited{key_of("new"), run, 143, {}});
  EXPECT_EQ(driver.started_items(), Items{"old"});
}

}  // namespace
}  // namespace berth::agent
