#include <gtest/gtest.h>

#include "control/testing.h"
#include "placement/verdict.h"

namespace berth::control {
namespace {

using model::DecisionKind;

// "n1: best fit, on crun: 1000 DMIPS left; n2: asked 600, has 412 DMIPS".
std::string answers_of(const model::DecisionRecord& decision) {
  const model::NodeId* chosen = decision.place ? &decision.place->node : nullptr;
  std::string text;
  for (const model::NodeAnswer& answer : decision.answers.nodes()) {
    if (!text.empty()) text += "; ";
    text += answer.node.value() + ": " + placement::verdict_of(answer, chosen).detail;
  }
  return text;
}

class Decisions : public testing::Test {
 protected:
  const model::DecisionRecord& decision(const model::InstanceKey& key = kWeb) const {
    const auto* found = driver.controller().decision_about(key);
    if (found == nullptr) throw std::logic_error("nothing was decided");
    return *found;
  }
  bool any_decision(const model::InstanceKey& key = kWeb) const {
    return driver.controller().decision_about(key) != nullptr;
  }

  // n2 has 412 DMIPS left when web asks for 600.
  void place_web_while_n2_is_full() {
    driver.join("n1");
    driver.join("n2");
    driver.apply({a_service("big").cpu(588), a_deployment("b", {a_run("big").on("n2")})});
    driver.apply({a_service("web").cpu(600), a_deployment("d", {a_run("web")})});
  }

  Driver driver;
};

TEST_F(Decisions, TellThePlaceTheRevisionAndWhatTheOtherNodesSaid) {
  place_web_while_n2_is_full();
  EXPECT_EQ(to_string(decision()), "Placed 1 on n1/crun");
  EXPECT_EQ(decision().kind, DecisionKind::Placed);
  EXPECT_EQ(answers_of(decision()),
            "n1: best fit, on crun: 1000 DMIPS left; n2: asked 600, has 412 DMIPS");
  EXPECT_EQ(decision().answers.left_out, 0u);
}

TEST_F(Decisions, StandWhenTheSituationHasChanged) {
  place_web_while_n2_is_full();
  const model::DecisionRecord before = decision();
  const std::uint64_t revision = driver.revision();
  driver.erase("Deployment", "b");
  driver.join("n3");
  EXPECT_GT(driver.revision(), revision);
  EXPECT_EQ(decision(), before);
  EXPECT_EQ(answers_of(decision()),
            "n1: best fit, on crun: 1000 DMIPS left; n2: asked 600, has 412 DMIPS");
}

TEST_F(Decisions, SurviveARestart) {
  place_web_while_n2_is_full();
  const model::DecisionRecord before = decision();
  driver.restart();
  EXPECT_EQ(decision(), before);
  driver.connect("n1");
  driver.connect("n2");
  driver.advance(10s);
  EXPECT_EQ(decision(), before);
}

TEST_F(Decisions, AreThoseOfTheRevisionThatMadeThemDurable) {
  driver.join("n1");
  const std::uint64_t before = driver.revision();
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  EXPECT_EQ(decision().revision, before + 1);
}

TEST_F(Decisions, OfARefusalTellTheReasonAndTheHint) {
  driver.join("n1");
  driver.apply({a_service("web").cpu(1600), a_deployment("d", {a_run("web")})});
  EXPECT_EQ(to_string(decision()), "Refused 1: InsufficientCpu");
  EXPECT_EQ(answers_of(decision()), "n1: asked 1600, has 1000 DMIPS");
  EXPECT_EQ(decision().hint, driver.controller().statuses().at(kWeb).problem.message);
  EXPECT_FALSE(decision().place);
}

TEST_F(Decisions, OfARefusalStandWhileTheReasonIsTheSame) {
  driver.join("n1");
  driver.apply({a_service("web").cpu(1600), a_deployment("d", {a_run("web")})});
  const model::DecisionRecord before = decision();
  driver.apply({a_service("other").cpu(100), a_deployment("o", {a_run("other")})});
  EXPECT_EQ(decision(), before) << "n1 has less, but that is no other decision";
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(decision(), before);
  driver.cordon("n1");
  EXPECT_EQ(decision().reason, model::Reason::NoUsableNodes);
  EXPECT_GT(decision().revision, before.revision);
}

// Others come and go all the time; what they leave is no news for who does not fit anyway.
TEST_F(Decisions, OfARefusalAreToldAgainToWhoAsksAgain) {
  const auto message = [this] { return driver.controller().statuses().at(kWeb).problem.message; };
  driver.join("n1");
  driver.apply({a_service("web").cpu(1600), a_deployment("d", {a_run("web")})});
  const std::string before = message();
  driver.apply({a_service("other").cpu(100), a_deployment("o", {a_run("other")})});
  EXPECT_EQ(message(), before);
  driver.apply({a_deployment("d", {a_run("web")})});
  EXPECT_NE(message(), before);
  EXPECT_EQ(decision().hint, before) << "the decision is the same, and the first word counts";
}

TEST_F(Decisions, OfARefusalGiveWayToAPlace) {
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  EXPECT_EQ(decision().kind, DecisionKind::Refused);
  driver.join("n1");
  EXPECT_EQ(decision().kind, DecisionKind::Placed);
  EXPECT_FALSE(decision().reason);
}

TEST_F(Decisions, AboutTheDisplacedNameTheOneThatTookTheirPlace) {
  driver.join("n1");
  driver.apply(
      {a_service("low").cpu(800), a_service("high").cpu(800), a_deployment("d", {a_run("low")})});
  driver.apply({a_deployment("e", {a_run("high").priority(1)})});
  EXPECT_EQ(to_string(decision(key_of("low"))),
            "Displaced 1: InsufficientCpu, because it had to make room for high/default/0");
  EXPECT_EQ(answers_of(decision(key_of("low"))), "n1: asked 800, has 200 DMIPS");
  EXPECT_EQ(to_string(decision(key_of("high"))), "Placed 1 on n1/crun");
}

TEST_F(Decisions, AboutTheDisplacedThatFindAnotherPlaceNameItToo) {
  driver.join("n1");
  driver.apply({a_service("low").cpu(800), a_service("high").cpu(800).pinned(),
                a_deployment("d", {a_run("low")})});
  driver.join("n2");
  driver.apply({a_deployment("e", {a_run("high").priority(1).on("n1")})});
  EXPECT_EQ(to_string(decision(key_of("low"))),
            "Moved n1/crun to n2/crun, because it had to make room for high/default/0");
}

TEST_F(Decisions, OfAMoveTellWhatTheNodeSaidThatIsLeft) {
  driver.join("n1");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.join("n2");
  driver.drain("n1");
  EXPECT_EQ(to_string(decision()), "Moved n1/crun to n2/crun");
  EXPECT_EQ(answers_of(decision()), "n1: is being drained; n2: best fit, on crun: 1000 DMIPS left");
}

TEST_F(Decisions, OfAnUpdateInPlaceAskNobodyElse) {
  driver.join("n1");
  driver.join("n2");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.apply({a_service("web").version("2"), a_deployment("d", {a_run("web").version("2")})});
  EXPECT_EQ(to_string(decision()), "Updated 1 to 2 on n1/crun");
  EXPECT_EQ(answers_of(decision()), "");
}

TEST_F(Decisions, OfAnUpdateThatGoesBackTellWhatFailed) {
  driver.join("n1");
  driver.agent("n1").broken_versions = {"2"};
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.apply({a_service("web").version("2"), a_deployment("d", {a_run("web").version("2")})});
  EXPECT_EQ(to_string(decision()),
            "Updated 2 to 1 on n1/crun, because web/default/0 did not come up in version 2: it is "
            "broken");
}

TEST_F(Decisions, KeepThoseThatCameNearestAndCountTheRest) {
  for (int i = 10; i < 22; ++i) driver.join("n" + std::to_string(i));
  driver.join("n30", a_node().cpu(500));
  driver.apply({a_service("web").cpu(600), a_deployment("d", {a_run("web")})});
  EXPECT_EQ(decision().answers.nodes().size(), 8u);
  EXPECT_EQ(decision().answers.left_out, 5u);
  EXPECT_EQ(decision().answers.nodes().front().node, node_id("n10"));
  EXPECT_EQ(decision().answers.nodes().back().node, node_id("n17"));
}

TEST_F(Decisions, AreForgottenWithTheirInstance) {
  driver.join("n1");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.erase("Deployment", "d");
  EXPECT_FALSE(any_decision()) << "nothing was decided about one that nobody asks for";
  const std::uint64_t forgotten_by = driver.revision();
  driver.apply({a_deployment("d", {a_run("web")})});
  EXPECT_GT(decision().revision, forgotten_by);
  EXPECT_EQ(to_string(decision()), "Placed 1 on n1/crun");
}

TEST_F(Decisions, AboutAnAdoptedComponentTellThatItWasThere) {
  const model::InstanceKey firmware = key_of("mcu-fw");
  driver.add("n1", a_node().with_firmware())
      .find({.key = firmware,
             .type = model::ItemType::Component,
             .version = "1",
             .runtime = model::RuntimeId{"mcu"}});
  driver.connect("n1");
  EXPECT_EQ(to_string(decision(firmware)), "Placed 1 on n1/mcu, because it was preinstalled there");
  EXPECT_EQ(decision(firmware).revision, driver.durable().counters.revision);
  driver.apply({a_component("mcu-fw"), a_deployment("d", {a_run("mcu-fw")})});
  EXPECT_EQ(to_string(decision(firmware)), "Placed 1 on n1/mcu, because it was preinstalled there");
}

class Pinned : public Decisions {
 protected:
  Pinned() {
    driver.join("n1");
    driver.join("n2", a_node().cpu(500));
    driver.apply({a_service("web").cpu(600).pinned(), a_deployment("d", {a_run("web")})});
    ask_for("n2");
  }

  void ask_for(const std::string& node) {
    driver.apply({a_deployment("d", {a_run("web").on(node)})});
  }
};

TEST_F(Pinned, InstancesThatAreLeftRunningHaveTheDecisionThatTheyAreRefused) {
  EXPECT_EQ(driver.place_of(kWeb), "n1/crun");
  EXPECT_EQ(to_string(decision()), "Refused 1 (1 is left running on n1/crun): NoMatchingNodeId");
  const model::DecisionRecord before = decision();
  driver.apply({a_service("other"), a_deployment("o", {a_run("other")})});
  EXPECT_EQ(decision(), before);
}

TEST_F(Pinned, InstancesThatFitAgainArePlacedWhereTheyAre) {
  ask_for("n1");
  EXPECT_EQ(to_string(decision()), "Placed 1 on n1/crun, because what stood against it is gone");
  EXPECT_TRUE(driver.runs("n1", kWeb));
}

TEST_F(Pinned, InstancesThatLoseTheirNodeAreRefusedAnew) {
  driver.disconnect("n1");
  driver.forget("n1");
  EXPECT_EQ(to_string(decision()), "Refused 1: InsufficientCpu");
}

Config only_one_user_id() {
  Config config;
  config.uids = {100, 100};
  config.cache_ttl = 1min;
  return config;
}

TEST(DecisionsWithoutIds, TellThatNoneWasFreeUntilOneIs) {
  Driver driver(only_one_user_id());
  const model::InstanceKey second = key_of("web", 1);
  const auto decided = [&] {
    const auto* found = driver.controller().decision_about(second);
    return found == nullptr ? "" : to_string(*found);
  };
  driver.join("n1");
  driver.apply({a_service("web"), a_service("db"), a_deployment("d", {a_run("web").times(2)})});
  EXPECT_EQ(decided(), "Refused 1: NoFreeUserId");
  EXPECT_EQ(driver.controller().decision_about(second)->hint,
            "all user ids or group ids are taken");
  const std::uint64_t revision = driver.controller().decision_about(second)->revision;
  driver.restart();
  EXPECT_EQ(driver.status_of(second), "failed(NoFreeUserId)");
  driver.connect("n1");
  EXPECT_EQ(driver.controller().decision_about(second)->revision, revision) << "it stands";
  driver.apply({a_deployment("d", {a_run("web").times(1)})});
  EXPECT_EQ(decided(), "") << "nobody asks for it";
  driver.apply({a_deployment("d", {a_run("web").times(2)})});
  EXPECT_EQ(decided(), "Refused 1: NoFreeUserId");
}

TEST(DecisionsWithoutIds, AreForgottenWithWhatAskedForThemEvenBeforeAnythingIsPlannedAgain) {
  Driver driver(only_one_user_id());
  driver.join("n1");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(2)})});
  driver.restart();
  driver.erase("Deployment", "d");  // the agents have not had their say yet
  driver.connect("n1");
  driver.advance(10s);
  EXPECT_EQ(driver.durable().decisions.size(), 0u);
}

TEST_F(Decisions, AboutWhatIsErasedAndAskedForAgainTellThatItHasToWait) {
  driver.join("n1");
  driver.apply({a_service("web"), a_deployment("d", {a_run("web")})});
  driver.erase("Deployment", "d");
  driver.agent("n1").answers = false;
  driver.erase("Instance", "web/default/0");
  driver.apply({a_deployment("d", {a_run("web")})});
  EXPECT_EQ(to_string(decision()), "Refused 1: BeingErased");
}

TEST_F(Decisions, OfAFullRebalanceTellThatEverythingWasPlacedAnew) {
  driver.join("n1");
  driver.apply({a_service("a").cpu(500), a_service("b").cpu(500),
                a_deployment("d", {a_run("a"), a_run("b")})});
  driver.join("n2");
  driver.tell({RebalanceCall{1000, RebalanceScope::Everything}});
  EXPECT_EQ(to_string(decision(key_of("b"))),
            "Moved n1/crun to n2/crun, because everything was placed anew");
  EXPECT_EQ(to_string(decision(key_of("a"))), "Placed 1 on n1/crun");
}

}  // namespace
}  // namespace berth::control
