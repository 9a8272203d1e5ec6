#include "agent/erasures.h"

#include <gtest/gtest.h>

#include "agent/driver.h"

namespace berth::agent {
namespace {

CommandReceived an_erasing_command(std::uint64_t n, const std::string& name) {
  CommandReceived received = a_partial_command(n, {}, {key_of(name)});
  received.command.erase = {key_of(name)};
  return received;
}

TEST(Erasures, AreDurableWithTheirCommandAndListedUntilTheyAreDone) {
  Driver driver = a_driver();
  driver.tell(an_erasing_command(1, "web"));
  EXPECT_TRUE(driver.durable().erasing.contains(key_of("web")));
  EXPECT_EQ(driver.actions<EraseData>().size(), 1U);
  EXPECT_TRUE(driver.status("web").stopping);
  driver.tell(DataErased{key_of("web"), ""});
  EXPECT_FALSE(driver.is_shown("web"));
  EXPECT_TRUE(driver.durable().erasing.empty());
}

TEST(Erasures, WaitUntilNothingRunsThatUsesTheData) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(an_erasing_command(2, "web"));
  EXPECT_TRUE(driver.actions<EraseData>().empty());
  const auto stops = driver.actions<Stop>();
  ASSERT_EQ(stops.size(), 1U);
  driver.tell(Exited{key_of("web"), stops[0].run, 0});
  EXPECT_EQ(driver.actions<EraseData>().size(), 1U);
}

TEST(Erasures, GoOnAfterARestart) {
  Driver driver = a_driver();
  driver.tell(an_erasing_command(1, "web"));
  driver.restart();
  driver.tell(Connected{2}, a_node(), a_list("crun", {}));
  EXPECT_EQ(driver.actions<EraseData>().size(), 1U);
  EXPECT_TRUE(driver.status("web").stopping);
}

TEST(Erasures, AreTriedAgainWhenTheyFail) {
  Driver driver = a_driver();
  driver.tell(an_erasing_command(1, "web"));
  driver.tell(DataErased{key_of("web"), "busy"});
  EXPECT_TRUE(driver.noted("cannot be erased: busy"));
  EXPECT_TRUE(driver.is_shown("web"));
  driver.wait(60s);
  EXPECT_EQ(driver.actions<EraseData>().size(), 1U);
}

// It could be done after what is started next.
TEST(Erasures, AreAskedForOnceHoweverLongTheyTakeAndNothingIsStartedMeanwhile) {
  Driver driver = a_driver();
  driver.tell(an_erasing_command(1, "web"));
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<EraseData>().empty());
  driver.tell(a_partial_command(2, {a_spec("web")}));
  driver.wait(1h);
  EXPECT_TRUE(driver.started_items().empty());
  driver.tell(DataErased{key_of("web"), ""});
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

TEST(Erasures, ThatFailedKeepNothingFromBeingStarted) {
  Driver driver = a_driver();
  driver.tell(an_erasing_command(1, "web"));
  driver.tell(DataErased{key_of("web"), "busy"});
  driver.tell(a_partial_command(2, {a_spec("web")}));
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<EraseData>().empty());
}

TEST(Erasures, OfNothingAreAnsweredToo) {
  Driver driver = a_driver();
  driver.tell(an_erasing_command(1, "web"));
  driver.tell(DataErased{key_of("web"), ""});
  driver.tell(an_erasing_command(2, "web"));
  EXPECT_EQ(driver.actions<EraseData>().size(), 1U);
}

TEST(Erasures, AreOverWhenTheInstanceIsWantedAgainWhichStartsWhenNothingErasesItAnyMore) {
  Driver driver = a_driver();
  driver.tell(an_erasing_command(1, "web"));
  driver.tell(a_partial_command(2, {a_spec("web")}));
  EXPECT_TRUE(driver.durable().erasing.empty());
  EXPECT_TRUE(driver.started_items().empty());
  driver.tell(DataErased{key_of("web"), ""});
  EXPECT_EQ(driver.started_items(), std::vector<std::string>{"web"});
}

}  // namespace
}  // namespace berth::agent
