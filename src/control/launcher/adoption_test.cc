#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

const model::InstanceKey kFirmware = key_of("mcu-fw");

model::ReportedStatus a_factory_version(const model::InstanceKey& key = kFirmware) {
  return {.key = key,
          .type = model::ItemType::Component,
          .version = "1",
          .runtime = model::RuntimeId{"mcu"}};
}

class Preinstalled : public testing::Test {
 protected:
  Preinstalled() {
    driver.add("n1", a_node().with_firmware()).find(a_factory_version());
    driver.connect("n1");
  }

  Driver driver;
};

TEST_F(Preinstalled, AnUnknownComponentIsAdoptedAndKept) {
  EXPECT_TRUE(driver.noted(NoteKind::Adopted));
  EXPECT_TRUE(driver.record(kFirmware).preinstalled);
  EXPECT_EQ(driver.place_of(kFirmware), "n1/mcu");
  EXPECT_EQ(driver.status_of(kFirmware), "active");
  EXPECT_TRUE(driver.runs("n1", kFirmware));
}

TEST_F(Preinstalled, ItIsNeitherToldNorStopped) {
  for (const model::Command& command : driver.commands_to("n1")) {
    EXPECT_TRUE(command.run.empty() && command.stop.empty());
  }
  driver.restart();
  driver.connect("n1");
  EXPECT_TRUE(driver.runs("n1", kFirmware));
  EXPECT_TRUE(driver.record(kFirmware).preinstalled);
}

TEST_F(Preinstalled, ItDoesNotBecomeSomethingToDelete) {
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.erase("Deployment", "d");
  EXPECT_TRUE(driver.record(kFirmware).preinstalled);
}

TEST_F(Preinstalled, WhenItHasGoneItIsForgotten) {
  driver.agent("n1").drop(kFirmware);
  driver.report_changes("n1");
  EXPECT_FALSE(driver.durable().instances.contains(kFirmware));
  EXPECT_EQ(driver.status_of(kFirmware), "");
  ASSERT_EQ(driver.effects().changes.size(), 1u);
  EXPECT_EQ(driver.effects().changes[0].state, model::InstanceState::Inactive);
}

TEST_F(Preinstalled, ItIsTakenOverAsItIsWhenItIsAskedFor) {
  driver.apply({a_component("mcu-fw"), a_deployment("d", {a_run("mcu-fw")})});
  EXPECT_FALSE(driver.record(kFirmware).preinstalled);
  EXPECT_NE(driver.record(kFirmware).uid, 0u);
  EXPECT_EQ(driver.status_of(kFirmware), "active");
  EXPECT_FALSE(driver.agent("n1").starts.contains(kFirmware)) << "it ran already";
}

TEST_F(Preinstalled, OnceTakenOverItIsLeftInPeaceByLaterPlans) {
  driver.apply({a_component("mcu-fw"), a_deployment("d", {a_run("mcu-fw")})});
  const std::uint32_t uid = driver.record(kFirmware).uid;
  driver.apply({a_service("web"), a_deployment("e", {a_run("web")})});
  EXPECT_EQ(driver.record(kFirmware).uid, uid);
  EXPECT_FALSE(driver.noted(NoteKind::Placed, "instance/mcu-fw/default/0"));
}

TEST_F(Preinstalled, OneOfTheSameNameOnAnotherNodeIsLeftAlone) {
  driver.add("n2", a_node().with_firmware()).find(a_factory_version());
  driver.connect("n2");
  driver.advance(10s);
  EXPECT_TRUE(driver.runs("n2", kFirmware));
  EXPECT_EQ(driver.place_of(kFirmware), "n1/mcu");

  driver.agent("n1").drop(kFirmware);
  driver.report_changes("n1");
  EXPECT_EQ(driver.place_of(kFirmware), "n2/mcu");
}

TEST_F(Preinstalled, ItIsForgottenWithItsNode) {
  driver.disconnect("n1");
  driver.forget("n1");
  EXPECT_TRUE(driver.durable().instances.empty());
  EXPECT_TRUE(driver.controller().statuses().empty());
}

TEST(Adoption, ANodeThatInventsComponentsCannotFillTheStore) {
  Config config;
  config.instances_max = 3;
  Driver driver(config);
  driver.add("n1", a_node().with_firmware());
  for (std::uint32_t i = 0; i < 5; ++i) driver.agent("n1").find(a_factory_version(key_of("x", i)));
  driver.connect("n1");
  EXPECT_EQ(driver.durable().instances.size(), 3u);
}

TEST(ComponentOnAll, APreinstalledOneKeepsItsIndexWhenAllAreAskedFor) {
  Driver driver;
  driver.apply({a_component("mcu-fw"), a_deployment("d", {a_run("mcu-fw").on_all_runtimes()})});
  driver.add("n1", a_node().with_firmware()).find(a_factory_version(key_of("mcu-fw", 7)));
  driver.connect("n1");
  EXPECT_EQ(driver.place_of(key_of("mcu-fw", 7)), "n1/mcu");
  EXPECT_FALSE(driver.durable().instances.contains(kFirmware)) << "one per runtime is enough";
}

}  // namespace
}  // namespace berth::control
