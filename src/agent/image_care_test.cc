#include <gtest/gtest.h>

#include "agent/driver.h"

// Images that nobody needs are looked for when there may be some.
namespace berth::agent {
namespace {

using Images = std::set<std::string>;

Driver a_driver_with_an_image() {
  Driver driver = a_driver();
  driver.tell(a_full_command(1, {a_spec("web").image("web:1")}));
  const Prepare order = driver.actions<Prepare>().at(0);
  driver.tell(Prepared{order.spec.key, order.generation, order.order});
  return driver;
}

TEST(ImageCare, LooksWhenAnImageWasFetchedAndAWhileLater) {
  Driver driver = a_driver_with_an_image();
  EXPECT_EQ(driver.actions<TidyImages>(), std::vector{TidyImages{Images{"web:1"}}});
  driver.wait(9min);
  EXPECT_TRUE(driver.actions<TidyImages>().empty());
  driver.wait(1min);
  EXPECT_EQ(driver.actions<TidyImages>().size(), 1U);
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<TidyImages>().empty());
}

TEST(ImageCare, LooksAWhileAfterAnythingHasChanged) {
  Driver driver = a_driver_with_an_image();
  driver.wait(1h);
  driver.tell(a_partial_command(2, {}, {key_of("web")}));
  EXPECT_TRUE(driver.actions<TidyImages>().empty());
  driver.wait(10min);
  EXPECT_EQ(driver.actions<TidyImages>(), std::vector{TidyImages{}});
}

TEST(ImageCare, LooksAfterARestartIfThereWereImages) {
  Driver driver = a_driver_with_an_image();
  driver.restart();
  driver.tell();
  EXPECT_EQ(driver.actions<TidyImages>(), std::vector{TidyImages{Images{"web:1"}}});
}

TEST(ImageCare, LeavesANodeInPeaceThatNeverHadAnImage) {
  Driver driver = a_driver_running(a_spec("web"));
  driver.tell(a_partial_command(2, {}, {key_of("web")}));
  driver.wait(1h);
  EXPECT_TRUE(driver.actions<TidyImages>().empty());
}

}  // namespace
}  // namespace berth::agent
