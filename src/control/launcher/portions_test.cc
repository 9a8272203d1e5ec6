#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "control/testing.h"

// Many that are asked for are placed in several steps.
namespace berth::control {
namespace {

Config placing(std::size_t at_once) {
  Config config;
  config.placed_at_once = at_once;
  return config;
}

Driver a_driver_placing(std::size_t at_once) {
  Driver driver(placing(at_once));
  driver.join("n1");
  return driver;
}

TEST(Portions, AreTakenInStepsThatFollowEachOther) {
  Driver driver = a_driver_placing(4);
  driver.agent("n1").answers = false;
  const CallId call = driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(10)})});
  EXPECT_EQ(driver.durable().instances.size(), 4u);
  EXPECT_EQ(driver.effects().wake_at, driver.now());
  EXPECT_FALSE(driver.reply_to<Accepted>(call));
  driver.advance({});
  EXPECT_EQ(driver.durable().instances.size(), 8u);
  driver.advance({});
  EXPECT_EQ(driver.durable().instances.size(), 10u);
  ASSERT_TRUE(driver.reply_to<Accepted>(call)) << "when all is decided";
  EXPECT_EQ(driver.reply_to<Accepted>(call)->consequences.size(), 10u);
}

TEST(Portions, TheHighestPriorityIsInTheFirst) {
  Driver driver = a_driver_placing(2);
  driver.agent("n1").answers = false;
  driver.apply({a_service("low"), a_service("high"),
                a_deployment("d", {a_run("low").times(3), a_run("high").times(2).priority(9)})});
  EXPECT_EQ(driver.place_of(key_of("high", 1)), "n1/crun");
  EXPECT_FALSE(driver.durable().instances.contains(key_of("low", 0)));
}

TEST(Portions, WhatIsNotAskedForAnyMoreIsNotPlaced) {
  Driver driver = a_driver_placing(2);
  driver.agent("n1").answers = false;
  const CallId many = driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(9)})});
  driver.apply({a_deployment("d", {a_run("web").times(3)})});
  driver.advance(1s);
  EXPECT_EQ(driver.place_of(key_of("web", 2)), "n1/crun");
  EXPECT_FALSE(driver.durable().instances.contains(key_of("web", 3)));
  driver.agent("n1").answers = true;
  driver.advance(30s);
  EXPECT_TRUE(driver.reply_to<Finished>(many)) << "nobody waits for what will never be";
}

TEST(Portions, WhatIsAskedForAgainBeforeItsTurnIsPlaced) {
  Driver driver = a_driver_placing(5);
  driver.agent("n1").answers = false;
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(9)})});
  driver.set_pace(Pace::HeldBack);
  driver.apply({a_deployment("d", {a_run("web").times(3)})});
  EXPECT_EQ(driver.record(key_of("web", 4)).phase, model::Phase::Cached);
  driver.apply({a_deployment("d", {a_run("web").times(9)})});
  driver.set_pace(Pace::GoOn);
  driver.advance(1s);
  for (std::uint32_t i = 0; i < 9; ++i) EXPECT_EQ(driver.place_of(key_of("web", i)), "n1/crun");
}

TEST(Portions, OneThatComesBeforeIsPlacedBefore) {
  Driver driver = a_driver_placing(2);
  driver.agent("n1").answers = false;
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(20)})});
  driver.apply({a_service("high"), a_deployment("e", {a_run("high").priority(9)})});
  EXPECT_EQ(driver.place_of(key_of("high")), "n1/crun");
  EXPECT_LT(driver.durable().instances.size(), 20u);
}

TEST(Portions, GoOnAfterARestartOfTheController) {
  Driver driver = a_driver_placing(2);
  driver.agent("n1").answers = false;
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(9)})});
  EXPECT_EQ(driver.durable().instances.size(), 2u);
  driver.agent("n1").answers = true;
  driver.restart();
  driver.connect("n1");
  driver.advance(30s);
  EXPECT_EQ(driver.status_of(key_of("web", 8)), "active");
}

TEST(Portions, EverythingIsPlannedWhenMoreThanThatHasChanged) {
  Driver driver = a_driver_placing(2);
  driver.agent("n1").answers = false;
  const CallId call = driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(9)})});
  driver.join("n2");
  EXPECT_EQ(driver.durable().instances.size(), 9u);
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
}

// What is asked for of a few items, more or less each time.
model::Manifest random_desire(Random& random) {
  model::Deployment deployment{"d", {}};
  for (const char* item : {"a", "b", "c", "d"}) {
    const auto times = static_cast<std::uint32_t>(random.below(7));
    if (times == 0) continue;
    // The priority stays: another one concerns everybody.
    deployment.run.push_back(a_run(item).times(times).priority(item[0] % 3));
  }
  return {deployment};
}

std::map<model::InstanceKey, std::string> places_of(const Driver& driver) {
  std::map<model::InstanceKey, std::string> places;
  for (const auto& [key, record] : driver.durable().instances) {
    places[key] = driver.status_of(key) + " " + driver.place_of(key);
  }
  return places;
}

TEST(Portions, OfAnySizeDecideAsAllAtOnce) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    Driver at_once(placing(std::numeric_limits<std::size_t>::max()));
    Driver in_parts(placing(random.below(5) + 1));
    const std::vector<model::Document> items{a_service("a").cpu(300), a_service("b").cpu(200),
                                             a_service("c").cpu(450), a_service("d").cpu(100)};
    for (Driver* driver : {&at_once, &in_parts}) {
      driver->join("n1");
      driver->join("n2");
      driver->apply(items);
    }
    for (int step = 0; step < 6; ++step) {
      const model::Manifest desire = random_desire(random);
      for (Driver* driver : {&at_once, &in_parts}) {
        driver->apply(desire);
        driver->advance(10s);
      }
      ASSERT_EQ(places_of(in_parts), places_of(at_once)) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace berth::control
