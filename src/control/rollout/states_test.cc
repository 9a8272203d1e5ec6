#include <gtest/gtest.h>

#include "control/rollout/testing.h"

namespace berth::control {
namespace {

class TravellingStates : public TravellingWeb {
 protected:
  std::string said_of_the_move() const {
    for (const Note& note : driver.effects().notes) {
      if (note.kind == NoteKind::Moved) return note.text;
    }
    return "";
  }
  void save(const std::string& node, const std::string& content) {
    driver.agent(node).save(kWeb, content);
    driver.report_changes(node);
  }
  std::string kept() const {
    const auto found = driver.durable().states.find(kWeb);
    return found == driver.durable().states.end() ? "" : found->second.state.content;
  }
  // The copy on n1 runs on there, from "one"; the one that counts has come to "two" on n2.
  void run_elsewhere_while_n1_is_away() {
    save("n1", "one");
    driver.disconnect("n1");
    driver.advance(10min);
    label("n2");
    driver.advance(5s);
    save("n2", "two");
    ASSERT_EQ(kept(), "two");
  }
  std::string handed(const std::string& node) {
    const auto found = driver.agent(node).handed.find(kWeb);
    return found == driver.agent(node).handed.end() ? "" : found->second.content;
  }
};

TEST_F(TravellingStates, AReportedStateIsKeptAndAnswered) {
  save("n1", "one");
  EXPECT_EQ(kept(), "one");
  EXPECT_EQ(driver.agent("n1").heard[kWeb], "of-one");
}

TEST_F(TravellingStates, TheGenerationGrowsWithEachChange) {
  save("n1", "one");
  const auto first = driver.durable().states.at(kWeb).state.generation;
  save("n1", "two");
  EXPECT_GT(driver.durable().states.at(kWeb).state.generation, first);
}

TEST_F(TravellingStates, TheSameStateIsAnsweredButNotWrittenAgain) {
  save("n1", "one");
  const auto before = driver.durable().states.at(kWeb);
  driver.agent("n1").heard.clear();
  save("n1", "one");
  EXPECT_EQ(driver.durable().states.at(kWeb), before);
  EXPECT_EQ(driver.agent("n1").heard[kWeb], "of-one");
}

TEST_F(TravellingStates, AMoveHandsTheLastStateToTheNextNode) {
  save("n1", "one");
  label("n2");
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_EQ(handed("n2"), "one");
}

// Its node was handed what there was then, and has never begun with that.
TEST_F(TravellingStates, WhatHasNotComeUpIsHandedWhatWasKeptSince) {
  save("n1", "one");
  driver.agent("n2").starts_slowly = true;
  label("n2");
  ASSERT_EQ(handed("n2"), "one");
  save("n1", "two");
  driver.apply({a_service("web").env("COLOR", "red")});
  EXPECT_EQ(handed("n2"), "two");
}

// Its disk has lost that it was told to stop, and what the controller has heard since.
TEST_F(TravellingStates, TheLastWordsOfLongAgoDoNotCount) {
  save("n1", "one");
  const model::Report long_ago = driver.agent("n1").full();
  label("n2");
  driver.advance(5s);
  label("n1");
  driver.advance(5s);
  save("n1", "two");
  ASSERT_EQ(kept(), "two");
  driver.disconnect("n1");
  driver.connect_silently("n1");
  model::Report report = long_ago;
  report.instances.clear();
  report.states = {{.key = kWeb, .digest = "of-one", .content = "one"}};
  driver.report("n1", report);
  EXPECT_EQ(kept(), "two");
}

// The node was given up, and the instance has run elsewhere since.
TEST_F(TravellingStates, WhatWasLeftOverDoesNotGoOnFromWhatItHasWhereItBeginsAnew) {
  run_elsewhere_while_n1_is_away();
  label("n1");
  driver.apply({a_service("web").env("COLOR", "red")});
  ASSERT_TRUE(driver.runs("n1", kWeb));
  driver.connect("n1");
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(handed("n1"), "two");
}

TEST_F(TravellingStates, WhatWasLeftOverSaysNothingThatCountsBeforeItBeginsAnew) {
  run_elsewhere_while_n1_is_away();
  label("n1");
  driver.apply({a_service("web").env("COLOR", "red")});
  driver.agent("n1").answers = false;  // it has not acted on the command yet
  driver.connect("n1");
  save("n1", "left over");
  EXPECT_EQ(kept(), "two");
}

// It went on while its node was away, and says what it has before the control plane knows who is
// there: it runs elsewhere then, and is told to go on there as it is in the next moment.
TEST_F(TravellingStates, WhatIsAskedToGoOnWhereItIsSaysAgainWhatDidNotCount) {
  run_elsewhere_while_n1_is_away();
  driver.restart();
  driver.agent("n1").save(kWeb, "late");
  driver.connect("n1");
  ASSERT_EQ(kept(), "two");
  ASSERT_EQ(driver.agent("n1").heard[kWeb], "of-one");
  label("n1");
  driver.connect("n2");
  driver.connect("n3");
  driver.advance(5s);
  ASSERT_EQ(driver.place_of(kWeb), "n1/crun");
  ASSERT_EQ(driver.agent("n1").starts[kWeb], 1);
  EXPECT_EQ(driver.agent("n1").heard[kWeb], "of-one") << "or it would not be said again";
  save("n1", "late");
  EXPECT_EQ(kept(), "late");
  EXPECT_EQ(driver.agent("n1").heard[kWeb], "of-late");
}

TEST_F(TravellingStates, OneThatIsTooLargeStaysAndTheLastThatCouldTravelIsHanded) {
  save("n1", "one");
  driver.agent("n1").save_too_large(kWeb);
  driver.report_changes("n1");
  EXPECT_EQ(kept(), "one");
  EXPECT_TRUE(driver.durable().states.at(kWeb).is_behind);
  EXPECT_EQ(driver.agent("n1").heard[kWeb], model::SavedState::kTooLarge);
  label("n2");
  EXPECT_EQ(handed("n2"), "one");
  EXPECT_NE(said_of_the_move().find("its state stays behind"), std::string::npos);
  driver.advance(2s);
  EXPECT_FALSE(driver.durable().states.at(kWeb).is_behind) << "n2 goes on from what it was handed";
}

TEST_F(TravellingStates, OneThatFitsAgainTravels) {
  driver.agent("n1").save_too_large(kWeb);
  driver.report_changes("n1");
  save("n1", "small");
  label("n2");
  EXPECT_EQ(handed("n2"), "small");
}

TEST_F(TravellingStates, AnInstanceThatStaysIsHandedNothing) {
  save("n1", "one");
  driver.apply({a_service("web").env("A", "B")});
  EXPECT_EQ(handed("n1"), "");
}

// Until then the source serves, and may have to go on doing so.
TEST_F(TravellingStates, WhatATargetWritesCountsWhenItHasProvenItself) {
  save("n1", "one");
  label("n2");
  save("n2", "broken");
  EXPECT_EQ(kept(), "one");
  EXPECT_FALSE(driver.agent("n2").heard.contains(kWeb)) << "it has to be said again";
  save("n1", "two");
  EXPECT_EQ(kept(), "two");
  driver.advance(2s);
  save("n2", "three");
  EXPECT_EQ(kept(), "three");
}

TEST_F(TravellingStates, NothingIsLeftOfATargetThatFailed) {
  driver.apply({a_deployment("d", {a_run("web")})});
  save("n1", "one");
  driver.drain("n1");
  const std::string target = driver.record(kWeb).place->node.value();
  save(target, "broken");
  driver.set(target, kWeb, InstanceState::Failed, {"Exited", "exited with code 1"});
  EXPECT_EQ(kept(), "one");
  const std::string next = driver.record(kWeb).place->node.value();
  EXPECT_NE(next, target);
  EXPECT_EQ(handed(next), next == "n1" ? "" : "one");
}

TEST_F(TravellingStates, AfterTheMoveTheWordOfTheNextNodeCounts) {
  save("n1", "one");
  driver.agent("n1").stops_slowly = true;
  label("n2");
  driver.advance(2s);
  save("n1", "late");
  EXPECT_EQ(kept(), "one");
  EXPECT_EQ(driver.agent("n1").heard[kWeb], "of-late") << "or it would be said for ever";
  save("n2", "two");
  EXPECT_EQ(kept(), "two");
}

TEST_F(TravellingStates, WhatComesBackIsNewerThanWhatWasLeft) {
  save("n1", "one");
  label("n2");
  const auto at_n2 = driver.agent("n2").handed.at(kWeb).generation;
  driver.advance(2s);
  label("n1");
  EXPECT_EQ(handed("n1"), "one");
  EXPECT_GT(driver.agent("n1").handed.at(kWeb).generation, at_n2);
}

TEST_F(TravellingStates, ATargetThatHasNotComeUpDoesNotSpeakForTheInstance) {
  driver.agent("n2").starts_slowly = true;
  save("n1", "one");
  label("n2");
  save("n1", "two");
  EXPECT_EQ(kept(), "two");
  driver.agent("n1").stops_slowly = true;
  driver.set("n2", kWeb, InstanceState::Active);
  driver.advance(2s);
  save("n1", "three");
  EXPECT_EQ(kept(), "two");
}

TEST_F(TravellingStates, ALostCommandIsRepeatedWithTheState) {
  save("n1", "one");
  driver.agent("n2").answers = false;
  label("n2");
  EXPECT_EQ(handed("n2"), "");
  driver.disconnect("n2");
  driver.agent("n2").answers = true;
  driver.connect("n2");
  EXPECT_EQ(handed("n2"), "one");
}

TEST_F(TravellingStates, WhatIsStartedAnewInAnotherVersionIsHandedTheStateAgain) {
  driver.agent("n2").starts_slowly = true;
  save("n1", "one");
  label("n2");
  save("n1", "two");
  driver.agent("n2").handed.clear();
  driver.apply({a_service("web").version("2"),
                a_deployment("d", {a_run("web").version("2").label("here")})});
  ASSERT_EQ(driver.agent("n2").statuses.at(kWeb).version, "2");
  EXPECT_EQ(handed("n2"), "two");
}

TEST_F(TravellingStates, SurvivesARestartOfTheController) {
  save("n1", "one");
  driver.restart();
  for (const char* node : {"n1", "n2", "n3"}) driver.connect(node);
  EXPECT_EQ(kept(), "one");
  label("n2");
  EXPECT_EQ(handed("n2"), "one");
}

TEST_F(TravellingStates, ANodeThatHasLostItsDiskIsGivenTheState) {
  save("n1", "one");
  driver.disconnect("n1");
  driver.agent("n1").lose_everything();
  driver.connect("n1");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(handed("n1"), "one");
}

TEST_F(TravellingStates, OfWhatIsNotAskedForIsKeptForTheDayItIs) {
  save("n1", "one");
  driver.agent("n1").stops_slowly = true;
  driver.erase("Deployment", "d");
  driver.agent("n1").drop(kWeb);
  save("n1", "last");
  EXPECT_EQ(kept(), "last");
  label("n2");
  driver.apply({a_deployment("d", {a_run("web").label("here")})});
  EXPECT_EQ(handed("n2"), "last");
}

class StopFirstStates : public TravellingStates {
 protected:
  model::Item item() override { return a_service("web").stop_first(); }
};

TEST_F(StopFirstStates, TheTargetGoesOnFromTheVeryLastState) {
  save("n1", "one");
  driver.agent("n1").stops_slowly = true;
  label("n2");
  EXPECT_FALSE(driver.runs("n2", kWeb));
  driver.agent("n1").drop(kWeb);
  save("n1", "last");
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_EQ(handed("n2"), "last");
}

// --- Handed over -------------------------------------------------------------------------------

class HandedOver : public TravellingStates {
 protected:
  model::Item item() override { return a_service("web").state(1000); }

  const std::optional<model::Leaving>& leaving() const { return driver.record(kWeb).leaving; }
  // What it has to say at its end comes with the word that it has gone.
  void stop_at(const std::string& node, const std::string& content) {
    driver.agent(node).drop(kWeb);
    save(node, content);
  }
  // It may run anywhere; n1 is drained, and n2 is where it goes first.
  void drain_n1() {
    driver.apply({a_deployment("d", {a_run("web")})});
    driver.become("n2", a_node().cpu(5000));
    driver.become("n3", a_node().cpu(3000));
    driver.agent("n2").starts_slowly = true;
    driver.drain("n1");
    ASSERT_EQ(driver.place_of(kWeb), "n2/crun");
  }
};

TEST_F(HandedOver, TheSourceRunsOnUntilAllIsPreparedAtTheTarget) {
  driver.agent("n2").prepares_slowly = true;
  label("n2");
  EXPECT_TRUE(driver.agent("n2").wanted().at(kWeb).prepare_only);
  EXPECT_TRUE(driver.runs("n1", kWeb));
  EXPECT_FALSE(driver.runs("n2", kWeb));
  EXPECT_EQ(driver.status_of(kWeb), "active");
  driver.agent("n1").stops_slowly = true;
  driver.set("n2", kWeb, InstanceState::Activating);  // its image is there
  EXPECT_EQ(driver.commands_to("n1").at(0).stop, std::vector{kWeb});
  EXPECT_FALSE(driver.runs("n2", kWeb));
  EXPECT_EQ(driver.status_of(kWeb), "activating(WaitingForStop)");
}

TEST_F(HandedOver, TheTargetGoesOnFromTheVeryLastState) {
  save("n1", "one");
  driver.agent("n1").stops_slowly = true;
  label("n2");
  stop_at("n1", "last");
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_EQ(handed("n2"), "last");
  driver.advance(2s);
  EXPECT_FALSE(leaving().has_value());
  save("n2", "next");
  EXPECT_EQ(kept(), "next");
}

// It was kept on n1 before; n2 has begun with it, and its successor on n1 is only prepared.
TEST_F(HandedOver, TheLastWordsOfOneThatNeverCameUpCountAfterARestartToo) {
  save("n1", "one");
  driver.erase("Deployment", "d");
  driver.agent("n2").starts_slowly = driver.agent("n2").stops_slowly = true;
  label("n2");
  driver.apply({a_deployment("d", {a_run("web").label("here")})});
  ASSERT_EQ(handed("n2"), "one");
  label("n1");
  ASSERT_TRUE(leaving() && leaving()->hand_over);
  driver.restart();
  driver.connect("n1");
  driver.connect("n2");
  stop_at("n2", "two");
  EXPECT_EQ(kept(), "two");
}

TEST_F(HandedOver, WhatHasBegunIsNotBegunWithTheStateAgain) {
  save("n1", "one");
  label("n2");
  EXPECT_EQ(driver.agent("n2").starts[kWeb], 1);
  driver.advance(20s);
  EXPECT_EQ(driver.agent("n2").starts[kWeb], 1);
  EXPECT_EQ(driver.agent("n1").starts[kWeb], 1);
}

TEST_F(HandedOver, AnImageThatCannotBeFetchedStopsNothing) {
  driver.agent("n2").prepares_slowly = true;
  label("n2");
  driver.set("n2", kWeb, InstanceState::Failed, {"ImagePullFailed", "no such image"});
  EXPECT_TRUE(driver.runs("n1", kWeb));
  EXPECT_EQ(driver.agent("n1").starts[kWeb], 1);
  EXPECT_TRUE(driver.commands_to("n1").empty());
}

TEST_F(HandedOver, ATargetThatFailsIsStoppedAndTheSourceStartsAgainWithItsState) {
  save("n1", "one");
  drain_n1();
  save("n2", "broken");
  EXPECT_EQ(kept(), "one") << "what a copy on trial writes is not heard";
  driver.agent("n2").stops_slowly = true;
  driver.agent("n1").starts_slowly = true;
  driver.set("n2", kWeb, InstanceState::Failed, {"Exited", "exited with code 1"});
  EXPECT_TRUE(driver.noted(NoteKind::MoveFailed));
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_FALSE(driver.runs("n1", kWeb)) << "before the other copy has gone";
  driver.agent("n2").drop(kWeb);
  driver.report_changes("n2");
  EXPECT_TRUE(driver.runs("n1", kWeb));
  EXPECT_EQ(kept(), "one");
  EXPECT_EQ(handed("n1"), "") << "it has the state that counts";
}

TEST_F(HandedOver, WhatIsBackAndRunsIsMovedOnToAnotherNode) {
  save("n1", "one");
  drain_n1();
  driver.agent("n1").starts_slowly = true;
  driver.set("n2", kWeb, InstanceState::Failed, {"Exited", "exited with code 1"});
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun") << "though it is being drained";
  EXPECT_FALSE(driver.runs("n3", kWeb));
  driver.set("n1", kWeb, InstanceState::Active);
  driver.advance(2s);
  EXPECT_EQ(driver.place_of(kWeb), "n3/crun");
  EXPECT_TRUE(driver.runs("n3", kWeb));
  EXPECT_FALSE(driver.runs("n1", kWeb));
}

TEST_F(HandedOver, ATargetThatIsLostBeforeItIsProvenSendsItBack) {
  save("n1", "one");
  drain_n1();
  driver.disconnect("n2");
  driver.advance(61s);
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(driver.agent("n1").starts[kWeb], 2);
}

TEST_F(HandedOver, ASourceThatIsLostInTheMiddleIsNotWaitedForLongerThanAnyNode) {
  save("n1", "one");
  driver.agent("n1").stops_slowly = true;
  label("n2");
  EXPECT_FALSE(driver.runs("n2", kWeb));
  driver.disconnect("n1");
  driver.advance(59s);
  EXPECT_FALSE(driver.runs("n2", kWeb));
  driver.advance(2s);
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_EQ(handed("n2"), "one") << "the last that was heard";
}

TEST_F(HandedOver, ItGoesOnAfterARestartOfTheController) {
  save("n1", "one");
  driver.agent("n1").stops_slowly = true;
  label("n2");
  driver.restart();
  for (const char* node : {"n1", "n2", "n3"}) driver.connect(node);
  EXPECT_FALSE(driver.runs("n2", kWeb));
  stop_at("n1", "last");
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_EQ(handed("n2"), "last");
  EXPECT_TRUE(leaving() && leaving()->empty);
  driver.restart();
  for (const char* node : {"n1", "n2", "n3"}) driver.connect(node);
  EXPECT_EQ(driver.agent("n2").starts[kWeb], 1);
  driver.advance(3s);
  EXPECT_FALSE(leaving().has_value());
}

TEST_F(HandedOver, AMoveBackWhileItIsPreparedRestartsNothing) {
  driver.agent("n2").prepares_slowly = true;
  label("n2");
  label("n1");
  EXPECT_EQ(driver.status_of(kWeb), "active");
  EXPECT_EQ(driver.agent("n1").starts[kWeb], 1);
  EXPECT_FALSE(driver.agent("n2").statuses.contains(kWeb));
  EXPECT_FALSE(leaving().has_value());
}

TEST_F(HandedOver, AMoveBackWhileTheSourceIsStoppingStartsItAnewThere) {
  driver.agent("n1").stops_slowly = true;
  label("n2");
  label("n1");
  stop_at("n1", "last");
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(driver.agent("n2").starts[kWeb], 0);
  EXPECT_EQ(kept(), "last");
}

TEST_F(HandedOver, ASecondMoveTakesAlongWhatTheSecondPlaceHasWritten) {
  save("n1", "one");
  label("n2");
  ASSERT_EQ(driver.status_of(kWeb), "active");
  ASSERT_TRUE(leaving() && leaving()->empty) << "n2 has yet to prove itself";
  driver.agent("n2").stops_slowly = true;
  label("n3");
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_FALSE(driver.runs("n3", kWeb));
  stop_at("n2", "two");
  EXPECT_EQ(handed("n3"), "two");
}

// n2 has refused to start it, so it goes back; the word of that has not reached n2 when it starts
// it after all.
TEST_F(HandedOver, WhatIsWrittenOnTheWayBackGoesBackToo) {
  save("n1", "one");
  driver.agent("n2").starts_slowly = true;
  label("n2");
  ASSERT_FALSE(driver.runs("n1", kWeb));
  driver.agent("n2").stops_slowly = true;
  driver.agent("n1").prepares_slowly = true;
  label("n1");
  ASSERT_EQ(driver.place_of(kWeb), "n1/crun");
  stop_at("n2", "two");
  EXPECT_EQ(kept(), "two");
  driver.set("n1", kWeb, InstanceState::Activating);
  EXPECT_EQ(handed("n1"), "two");
}

TEST_F(HandedOver, AnAgentThatKnowsNothingOfPreparingIsNotWaitedFor) {
  save("n1", "one");
  driver.agent("n2").knows_preparing = false;
  driver.agent("n1").stops_slowly = true;
  label("n2");
  EXPECT_FALSE(driver.runs("n2", kWeb));
  stop_at("n1", "last");
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_EQ(handed("n2"), "last");
}

TEST_F(HandedOver, WhoIsDisplacedIsPreparedElsewhereBeforeItStops) {
  driver.apply({a_deployment("d", {a_run("web")}), labels_of("n1", {})});
  driver.become("n2", a_node().cpu(400));
  driver.become("n3", a_node().cpu(10));
  driver.agent("n2").prepares_slowly = true;
  driver.apply({a_service("web").version("1").state(1000).cpu(300)});
  driver.advance(5s);
  driver.apply({a_service("big").cpu(900), a_deployment("e", {a_run("big").priority(9)})});
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
  EXPECT_TRUE(driver.runs("n1", kWeb));
  driver.set("n2", kWeb, InstanceState::Activating);
  EXPECT_FALSE(driver.runs("n1", kWeb));
  EXPECT_TRUE(driver.runs("n2", kWeb));
  EXPECT_TRUE(driver.runs("n1", key_of("big")));
}

TEST_F(HandedOver, WhatCanNeitherComeUpNorGoBackIsTriedNowAndThen) {
  label("n2");
  ASSERT_TRUE(leaving() && leaving()->empty) << "n2 has yet to prove itself";
  driver.set("n2", kWeb, InstanceState::Failed, {"StartFailed", "no such file"});
  EXPECT_TRUE(driver.noted(NoteKind::MoveFailed));
  driver.advance(9s);
  EXPECT_FALSE(driver.noted(NoteKind::MoveFailed));
  driver.apply({labels_of("n1", {"here"})});
  driver.advance(2s);
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
}

TEST_F(HandedOver, WhatCanNeitherComeUpNorGoBackIsWhereItFailedInTheEnd) {
  label("n2");
  driver.set("n2", kWeb, InstanceState::Failed, {"StartFailed", "no such file"});
  driver.advance(Config().rollout_timeout - 20s);
  EXPECT_TRUE(leaving()) << "it may still go back";
  driver.advance(40s);
  EXPECT_FALSE(leaving());
  EXPECT_EQ(driver.place_of(kWeb), "n2/crun");
}

TEST_F(HandedOver, ANewVersionThatFailsElsewhereGoesBackToTheOldOneAndItsState) {
  driver.apply({labels_of("n2", {"here"})});
  driver.apply({a_service("db").cpu(900), a_deployment("e", {a_run("db").on("n1")})});
  save("n1", "one");
  driver.agent("n2").broken_versions = {"2"};
  driver.apply({a_service("web").version("2").cpu(300).state(1000),
                a_deployment("d", {a_run("web").version("2").label("here")})});
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(driver.status_of(kWeb), "active(RolledBack)");
  EXPECT_EQ(driver.agent("n1").starts[kWeb], 2);
  EXPECT_EQ(driver.agent("n2").starts[kWeb], 1);
  EXPECT_EQ(kept(), "one");
}

class LastCopies : public TravellingStates {
 protected:
  model::Item item() override { return a_service("web").state(1000).moves_last_copy(); }
};

TEST_F(LastCopies, AreHandedWhileTheSourceRunsOn) {
  save("n1", "one");
  label("n2");
  EXPECT_TRUE(driver.runs("n1", kWeb) && driver.runs("n2", kWeb));
  EXPECT_EQ(handed("n2"), "one");
}

TEST_F(LastCopies, OfWhichANewVersionHandsOverGoOnUntouchedWhenThatFailsElsewhere) {
  driver.apply({labels_of("n2", {"here"})});
  driver.apply({a_service("db").cpu(900), a_deployment("e", {a_run("db").on("n1")})});
  save("n1", "one");
  driver.agent("n2").starts_slowly = true;
  driver.apply({a_service("web").version("2").cpu(300).state(1000),
                a_deployment("d", {a_run("web").version("2").label("here")})});
  ASSERT_EQ(driver.place_of(kWeb), "n2/crun");
  driver.agent("n2").stops_slowly = true;
  driver.set("n2", kWeb, InstanceState::Failed, {"Crashed", ""});
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_TRUE(driver.runs("n1", kWeb));
  EXPECT_EQ(driver.commands_to("n2").at(0).stop, std::vector{kWeb});
  driver.agent("n2").drop(kWeb);
  driver.report_changes("n2");
  EXPECT_EQ(driver.status_of(kWeb), "active(RolledBack)");
  EXPECT_EQ(driver.agent("n1").starts[kWeb], 1);
  EXPECT_EQ(kept(), "one");
}

class UnitWideStates : public TravellingStates {
 protected:
  model::Item item() override { return a_service("web").state(1); }
  model::NodeInfo node_info() override { return a_node().unit_wide_state(1000); }
};

TEST_F(UnitWideStates, AreWhereTheyAre) {
  save("n1", "one");
  EXPECT_EQ(kept(), "");
  EXPECT_EQ(driver.agent("n1").heard[kWeb], "of-one");
  label("n2");
  EXPECT_EQ(handed("n2"), "");
}

}  // namespace
}  // namespace berth::control
