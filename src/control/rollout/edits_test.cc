#include "control/rollout/testing.h"

namespace berth::control {
namespace {

// --- The same version, edited ------------------------------------------------------------------

class Edits : public RolloutsTest {
 protected:
  CallId edit(const std::string& value) {
    return driver.apply({a_service("web").env("COLOUR", value)});
  }
  // How often each was started, in the order of the indices.
  std::string starts() {
    std::string text;
    for (const auto& [key, count] : agent().starts) text += std::to_string(count);
    return text;
  }
};

TEST_F(Edits, RestartOneInstanceAfterTheOther) {
  agent().starts_slowly = true;
  const CallId call = edit("blue");
  EXPECT_EQ(starts(), "211");
  driver.set("n1", web(0), InstanceState::Active);
  EXPECT_EQ(starts(), "221");
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Active);
  EXPECT_EQ(starts(), "222");
  EXPECT_FALSE(finished(call));
  driver.advance(2s);
  EXPECT_TRUE(finished(call));
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, StopAtTheFirstFailureAndTheOthersKeepRunningWhatTheyHave) {
  agent().starts_slowly = true;
  const CallId call = edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  EXPECT_EQ(starts(), "211");
  EXPECT_EQ(driver.status_of(web(1)), "active(NotRestarted)");
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_EQ(finished(call)->rolled_back.at(0).failed->message,
            "web/default/0 did not come up in version 1 as edited: no such colour");
  driver.connect("n1");
  EXPECT_EQ(starts(), "211") << "a new stream restarts nobody";
  agent().starts_slowly = false;
  edit("green");
  driver.advance(2s);
  EXPECT_EQ(driver.status_of(web(0)), "active");
  EXPECT_EQ(agent().variables.at(web(2)).at("COLOUR"), "green");
}

TEST_F(Edits, ThatFailedLeaveTheOthersToBePausedAndToGetOtherVariables) {
  agent().starts_slowly = true;
  edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  agent().starts_slowly = false;
  driver.pause(web(1));
  EXPECT_EQ(driver.status_of(web(1)), "paused(NotRestarted)");
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(web(1)), "paused(NotRestarted)");
  driver.pause(web(1), model::Pausing::Running);
  EXPECT_EQ(driver.status_of(web(1)), "active(NotRestarted)");
  EXPECT_EQ(starts(), "211");
  model::EnvEntry entry;
  entry.index = 2;
  entry.variables = {{"LEVEL", "debug", {}}};
  driver.apply({model::EnvOverride{"debug", {entry}}});
  EXPECT_EQ(starts(), "212");
  EXPECT_EQ(agent().variables.at(web(2)), (std::map<std::string, std::string>{{"LEVEL", "debug"}}));
}

TEST_F(Edits, OfWhichNobodyKnowsWhatWasBeforeLeaveNothingToBePaused) {
  agent().starts_slowly = true;
  edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  driver.restart();
  driver.connect("n1");
  const auto refused = driver.reply_to<Error>(driver.pause(web(1)));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message,
            "web/default/1 runs what its item said before it was edited, which is not known any "
            "more: correct the item first");
}

TEST_F(Edits, GoOnAfterARestartOfTheController) {
  agent().starts_slowly = true;
  edit("blue");
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(starts(), "211");
  agent().starts_slowly = false;
  driver.set("n1", web(0), InstanceState::Active);
  driver.advance(10s);
  EXPECT_EQ(starts(), "222");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, RestartNobodyIfOnlyTheHealthCheckChanges) {
  model::Item item = a_service("web");
  item.health = model::HealthCheck{};
  driver.apply({item});
  EXPECT_EQ(starts(), "111");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, OfTheVersionThatWasGoneBackToRestartOneInstanceAfterTheOtherToo) {
  agent().broken_versions = {"2"};
  update();
  ASSERT_EQ(versions(), "111");
  const std::string before = starts();
  ASSERT_EQ(before, "311") << "the first went to version 2 and back";
  agent().starts_slowly = true;
  const CallId call = edit("blue");
  EXPECT_EQ(starts(), "411");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  EXPECT_EQ(starts(), "411");
  EXPECT_EQ(driver.status_of(web(0)), "failed(Crashed)");
  EXPECT_EQ(driver.status_of(web(1)), "active(NotRestarted)");
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  ASSERT_EQ(finished(call)->rolled_back.size(), 1u);
  EXPECT_EQ(finished(call)->rolled_back[0].to, "1");
  EXPECT_EQ(finished(call)->rolled_back[0].failed->message,
            "web/default/0 did not come up in version 1 as edited: no such colour");
}

TEST_F(Edits, OfTheVersionThatWasGoneBackToAreCorrectedLikeOthers) {
  agent().broken_versions = {"2"};
  update();
  agent().starts_slowly = true;
  edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(starts(), "411") << "a restart of the controller restarts nobody";
  EXPECT_EQ(driver.status_of(web(2)), "active(NotRestarted)");
  agent().starts_slowly = false;
  edit("green");
  driver.advance(2s);
  EXPECT_EQ(starts(), "522");
  EXPECT_EQ(driver.status_of(web(2)), "active(RolledBack)") << "version 2 is still asked for";
  EXPECT_EQ(agent().variables.at(web(2)).at("COLOUR"), "green");
}

TEST_F(Edits, TogetherWithANewVersionRestartNobodyBeforeItsTurnToBeUpdated) {
  agent().starts_slowly = true;
  driver.apply({a_service("web").env("COLOUR", "blue"), a_service("web").version("2"),
                a_deployment("d", {a_run("web").times(3).version("2")})});
  EXPECT_EQ(versions(), "211");
  EXPECT_EQ(starts(), "211");
  driver.set("n1", web(0), InstanceState::Active);
  EXPECT_EQ(starts(), "221");
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(starts(), "221");
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Active);
  driver.advance(4s);
  EXPECT_EQ(starts(), "222");
  EXPECT_EQ(versions(), "222");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, TogetherWithANewVersionThatFailsRestartTheOthersOneAfterTheOther) {
  agent().starts_slowly = true;
  driver.apply({a_service("web").env("COLOUR", "blue"), a_service("web").version("2"),
                a_deployment("d", {a_run("web").times(3).version("2")})});
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", ""});
  EXPECT_EQ(versions(), "111");
  EXPECT_EQ(starts(), "311") << "the others wait until it is back";
  driver.set("n1", web(0), InstanceState::Active);
  EXPECT_EQ(starts(), "321");
  driver.set("n1", web(1), InstanceState::Active);
  EXPECT_EQ(starts(), "322");
  agent().starts_slowly = false;
  driver.set("n1", web(2), InstanceState::Active);
  driver.advance(2s);
  EXPECT_EQ(driver.status_of(web(2)), "active(RolledBack)");
  EXPECT_EQ(agent().variables.at(web(2)).at("COLOUR"), "blue");
}

TEST_F(Edits, OfTheNewVersionRestartOneInstanceAfterTheOtherWhileANodeIsAwaited) {
  driver.join("n2");
  driver.apply({a_service("web").cpu(300), a_deployment("d", {a_run("web").times(4)})});
  driver.disconnect("n2");
  driver.advance(3s);
  driver.apply({a_service("web").version("2").cpu(300),
                a_deployment("d", {a_run("web").times(4).version("2")})});
  driver.advance(3s);
  ASSERT_EQ(versions(), "222");
  const std::string before = starts();
  agent().starts_slowly = true;
  driver.apply({a_service("web").version("2").cpu(300).env("COLOUR", "blue")});
  EXPECT_EQ(agent().statuses.at(web(0)).state, InstanceState::Activating);
  EXPECT_EQ(agent().statuses.at(web(1)).state, InstanceState::Active);
  EXPECT_EQ(agent().statuses.at(web(2)).state, InstanceState::Active);
}

TEST_F(Edits, ThatFailedAreNotTriedOnEverybodyAtOnceWhenSomebodyAsksAgain) {
  agent().starts_slowly = true;
  edit("blue");
  driver.set("n1", web(0), InstanceState::Failed, {"Crashed", "no such colour"});
  const CallId call = driver.apply({a_deployment("d", {a_run("web").times(3)})});
  EXPECT_EQ(starts(), "211");
  driver.advance(2s);
  ASSERT_TRUE(finished(call));
  EXPECT_EQ(finished(call)->rolled_back.size(), 1u);
  driver.set("n1", web(0), InstanceState::Active);
  driver.apply({a_deployment("d", {a_run("web").times(3)})});
  EXPECT_EQ(starts(), "221") << "it has come up in the meantime";
}

TEST_F(Edits, OfAVersionThatWorksHereAndThereUpdateTheOthersToo) {
  agent().starts_slowly = true;
  update(true);
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Failed, {"Unhealthy", "no answer"});
  driver.advance(2s);
  ASSERT_EQ(versions(), "212");
  driver.apply({a_service("web").version("2").env("mode", "well")});
  driver.advance(2s);
  EXPECT_EQ(versions(), "222");
  EXPECT_TRUE(driver.durable().rollouts.empty());
}

TEST_F(Edits, OfTheOldVersionRestartThoseThatWereKeptBack) {
  agent().starts_slowly = true;
  update(true);
  driver.set("n1", web(0), InstanceState::Active);
  agent().starts_slowly = false;
  driver.set("n1", web(1), InstanceState::Failed, {"Unhealthy", "no answer"});
  driver.advance(2s);
  const std::string before = starts();
  ASSERT_EQ(before, "232");
  edit("blue");
  driver.advance(2s);
  EXPECT_EQ(starts(), "242");
  EXPECT_EQ(driver.status_of(web(1)), "active(RolledBack)");
}

}  // namespace
}  // namespace berth::control
