#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

using model::InstanceState;
using model::Pausing;

// "web" runs on n1.
class Pauses : public testing::Test {
 protected:
  Pauses() {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  }

  CallId update() {
    return driver.apply(
        {a_service("web").version("2"), a_deployment("d", {a_run("web").version("2")})});
  }
  std::string error_of(CallId call) {
    const auto error = driver.reply_to<Error>(call);
    return error ? error->message : "";
  }
  int starts(const std::string& node) { return driver.agent(node).starts[kWeb]; }

  Driver driver;
};

TEST_F(Pauses, AreToldWithoutARestartAndEndWithAResume) {
  const CallId call = driver.pause(kWeb);
  EXPECT_TRUE(driver.reply_to<Accepted>(call));
  EXPECT_TRUE(driver.noted(NoteKind::Paused, "instance/web/default/0"));
  EXPECT_EQ(driver.status_of(kWeb), "paused");
  driver.pause(kWeb, Pausing::Running);
  EXPECT_TRUE(driver.noted(NoteKind::Resumed, "instance/web/default/0"));
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(starts("n1"), 1);
}

TEST_F(Pauses, OfWhatIsPausedChangeNothing) {
  driver.pause(kWeb);
  const std::uint64_t revision = driver.revision();
  EXPECT_TRUE(driver.reply_to<Accepted>(driver.pause(kWeb)));
  EXPECT_EQ(driver.revision(), revision);
  EXPECT_TRUE(driver.commands_to("n1").empty());
}

TEST_F(Pauses, SurviveARestartOfTheController) {
  driver.pause(kWeb);
  driver.restart();
  driver.connect("n1");
  driver.advance(10s);
  EXPECT_EQ(driver.status_of(kWeb), "paused");
  EXPECT_TRUE(driver.agent("n1").wanted().at(kWeb).paused);
  EXPECT_EQ(starts("n1"), 1);
}

TEST_F(Pauses, GoWithTheInstanceToItsNextNode) {
  driver.pause(kWeb);
  driver.join("n2");
  driver.agent("n2").starts_slowly = true;
  driver.drain("n1");
  EXPECT_TRUE(driver.runs("n1", kWeb)) << "make before break";
  driver.set("n2", kWeb, InstanceState::Paused);
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_EQ(driver.status_of(kWeb), "paused");
  EXPECT_FALSE(driver.record(kWeb).leaving);
}

TEST_F(Pauses, AreForgottenWhenNobodyAsksForTheInstance) {
  driver.pause(kWeb);
  driver.erase("Deployment", "d");
  EXPECT_FALSE(driver.record(kWeb).paused);
  driver.apply({a_deployment("d", {a_run("web")})});
  EXPECT_EQ(driver.status_of(kWeb), "active");
}

TEST_F(Pauses, LastWhileTheSubjectIsAway) {
  driver.pause(kWeb);
  const model::SubjectId subject{"default"};
  driver.apply({model::Subject{.id = subject, .present = false}});
  EXPECT_EQ(driver.status_of(kWeb), "inactive(SubjectAbsent)");
  driver.apply({model::Subject{.id = subject, .present = true}});
  EXPECT_EQ(driver.status_of(kWeb), "paused");
}

TEST_F(Pauses, MayBeAskedForBeforeThereIsAPlace) {
  driver.apply({a_service("big").cpu(100'000), a_deployment("e", {a_run("big")})});
  EXPECT_TRUE(driver.reply_to<Accepted>(driver.pause(key_of("big"))));
  driver.join("n2", a_node().cpu(200'000));
  EXPECT_EQ(driver.status_of(key_of("big")), "paused");
}

TEST_F(Pauses, ANewVersionProvesItselfFirst) {
  driver.pause(kWeb);
  update();
  EXPECT_EQ(driver.status_of(kWeb), "active") << "what stands still proves nothing";
  driver.advance(2s);
  EXPECT_EQ(driver.status_of(kWeb), "paused");
  EXPECT_TRUE(driver.durable().rollouts.empty());
  EXPECT_EQ(starts("n1"), 2);
}

TEST_F(Pauses, AVersionThatFailsGoesBackToThePausedOne) {
  driver.pause(kWeb);
  driver.agent("n1").broken_versions = {"2"};
  update();
  EXPECT_EQ(driver.agent("n1").statuses.at(kWeb).version, "1");
  EXPECT_EQ(driver.status_of(kWeb), "paused(RolledBack)");
}

TEST_F(Pauses, DuringARolloutAreKeptOverARestartOfTheController) {
  driver.apply({a_deployment("d", {a_run("web").times(2)})});
  driver.pause(kWeb);
  driver.agent("n1").starts_slowly = true;
  driver.apply(
      {a_service("web").version("2"), a_deployment("d", {a_run("web").times(2).version("2")})});
  driver.set("n1", kWeb, InstanceState::Active);
  driver.advance(2s);
  ASSERT_EQ(driver.status_of(kWeb), "paused");
  ASSERT_FALSE(driver.durable().rollouts.empty()) << "the other one is not up yet";
  driver.restart();
  driver.connect("n1");
  driver.advance(1s);
  EXPECT_EQ(driver.status_of(kWeb), "paused");
  EXPECT_TRUE(driver.agent("n1").wanted().at(kWeb).paused);
}

TEST_F(Pauses, AFailureToPauseIsSaid) {
  driver.agent("n1").answers = false;
  driver.pause(kWeb);
  driver.set("n1", kWeb, InstanceState::Active, {"PauseFailed", "frozen solid"});
  EXPECT_EQ(driver.status_of(kWeb), "active(PauseFailed)");
}

TEST_F(Pauses, AreRefusedForWhatIsNotThere) {
  EXPECT_EQ(error_of(driver.pause(key_of("web", 7))),
            "no instance web/default/7; instances are named item/subject/index");
  EXPECT_EQ(error_of(driver.pause(key_of("nobody"), Pausing::Running)),
            "no instance nobody/default/0; instances are named item/subject/index");
}

TEST_F(Pauses, AreRefusedForComponents) {
  driver.join("n2", a_node().with_firmware());
  driver.apply({a_component("fw"), a_deployment("e", {a_run("fw")})});
  EXPECT_EQ(error_of(driver.pause(key_of("fw"))),
            "fw/default/0 is a component; only services can be paused");
}

TEST_F(Pauses, AreRefusedForWhatNobodyAsksFor) {
  driver.erase("Deployment", "d");
  EXPECT_EQ(error_of(driver.pause(kWeb)),
            "web/default/0 does not run: nobody asks for it any more");
}

}  // namespace
}  // namespace berth::control
