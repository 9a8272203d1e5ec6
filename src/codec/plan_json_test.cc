#include "codec/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace berth::codec {
namespace {

using model::InstanceKey;
using model::ItemId;
using model::NodeId;
using model::Place;
using model::RuntimeId;
using model::SubjectId;
using nlohmann::json;
using placement::Action;
using placement::NodeVerdict;
using placement::Plan;
using placement::Reason;
using ::testing::HasSubstr;

InstanceKey key(const char* item, std::uint32_t index = 0) {
  return {ItemId(item), SubjectId("vehicle"), index};
}

Place place(const char* node) { return {NodeId(node), RuntimeId("runc")}; }

NodeVerdict a_verdict(const char* node, Reason reason) {
  return {.node = NodeId(node),
          .reason = reason,
          .asked = {},
          .has = {},
          .runtime = {},
          .readiness = {},
          .detail = "a phrase for people"};
}

placement::Refusal a_refusal(std::vector<NodeVerdict> nodes) {
  return {.key = key("camera"),
          .version = "2.0.0",
          .reason = Reason::InsufficientCpu,
          .nodes = std::move(nodes),
          .hint = "free 188 DMIPS on n1",
          .left_running = false};
}

TEST(PlanToJson, HasExactlyTheFieldsOfTheContractInTheirOrder) {
  Plan plan;
  plan.placements = {{key("telemetry"), "1.2.0", place("n1"), 0, Action::Start, std::nullopt}};
  NodeVerdict cpu = a_verdict("n1", Reason::InsufficientCpu);
  cpu.asked = 600;
  cpu.has = 412;
  plan.refused = {a_refusal({cpu, a_verdict("n2", Reason::NoMatchingLabels)})};
  plan.stops = {{key("old"), "1.0.0", place("n2")}};
  plan.nodes = {{.node = NodeId("n1"),
                 .capacity = {Dmips(10000), Bytes(8589934592)},
                 .before = {Dmips(1), Bytes(2)},
                 .reserved = {Dmips(600), Bytes(0)},
                 .available = {Dmips(9400), Bytes(8589934592)}}};
  EXPECT_EQ(plan_to_json(plan, 17), R"({"revision": 17,
 "placements": [
  {"item": "telemetry", "subject": "vehicle", "index": 0, "version": "1.2.0", "node": "n1", "runtime": "runc", "image": 0, "action": "start"}
 ],
 "refused": [
  {"item": "camera", "subject": "vehicle", "index": 0, "version": "2.0.0", "reason": "InsufficientCpu", "nodes": [{"node": "n1", "reason": "InsufficientCpu", "asked": 600, "has": 412}, {"node": "n2", "reason": "NoMatchingLabels"}], "hint": "free 188 DMIPS on n1"}
 ],
 "stops": [
  {"item": "old", "subject": "vehicle", "index": 0, "version": "1.0.0", "node": "n2", "runtime": "runc"}
 ],
 "nodes": [
  {"node": "n1", "cpu": {"capacity": 10000, "reserved": 600, "available": 9400}, "ram": {"capacity": 8589934592, "reserved": 0, "available": 8589934592}}
 ]}
)");
}

TEST(PlanToJson, SaysWhichMovesLeaveStorageBehind) {
  Plan plan;
  plan.placements = {{key("a"), "1", place("n2"), 0, Action::Move, place("n1"), true},
                     {key("b"), "1", place("n2"), 0, Action::Move, place("n1"), false}};
  const json placements = json::parse(plan_to_json(plan, 0))["placements"];
  EXPECT_EQ(placements[0]["leavesStorage"], true);
  EXPECT_FALSE(placements[1].contains("leavesStorage"));
}

TEST(PlanToJson, OfNothingHasAllItsLists) {
  EXPECT_EQ(json::parse(plan_to_json({}, 0)),
            json::parse(R"({"revision":0,"placements":[],"refused":[],"stops":[],"nodes":[]})"));
}

TEST(PlanToJson, TellsWhereAnInstanceComesFrom) {
  Plan plan;
  plan.placements = {{key("a"), "1", place("n2"), 1, Action::Move, place("n1")}};
  const json entry = json::parse(plan_to_json(plan, 0))["placements"][0];
  EXPECT_EQ(entry["action"], "move");
  EXPECT_EQ(entry["image"], 1);
  EXPECT_EQ(entry["from"], json::parse(R"({"node":"n1","runtime":"runc"})"));
}

TEST(PlanToJson, TellsTheDowntimeOfWhatMoves) {
  Plan plan;
  plan.placements = {{key("a"), "1", place("n2"), 0, Action::Move, place("n1")},
                     {key("b"), "1", place("n2"), 0, Action::Start}};
  const json placements = json::parse(
      plan_to_json(plan, 0, {{key("a"), placement::Downtime::StopsFirst}}))["placements"];
  EXPECT_EQ(placements[0]["downtime"], "stopsFirst");
  EXPECT_FALSE(placements[1].contains("downtime"));
}

TEST(PlanToJson, NamesTheRuntimeThatIsNotReady) {
  NodeVerdict verdict = a_verdict("n1", Reason::RuntimeNotReady);
  verdict.runtime = RuntimeId("vm");
  verdict.readiness = model::Readiness::Unknown;
  Plan plan;
  plan.refused = {a_refusal({verdict})};
  EXPECT_EQ(json::parse(plan_to_json(plan, 0))["refused"][0]["nodes"],
            json::parse(
                R"([{"node":"n1","reason":"RuntimeNotReady","runtime":"vm","state":"Unknown"}])"));
}

TEST(PlanToJson, IsValidWhateverNamesContain) {
  Plan plan;
  plan.stops = {{key("quote\" and \xff byte"), "1\n2", place("n1")}};
  const json entry = json::parse(plan_to_json(plan, 0))["stops"][0];
  EXPECT_EQ(entry["item"], "quote\" and \xEF\xBF\xBD byte");
  EXPECT_EQ(entry["version"], "1\n2");
}

TEST(PlanToYaml, SaysTheSame) {
  Plan plan;
  plan.placements = {{key("telemetry"), "1.2", place("n1"), 0, Action::Move, place("no")}};
  plan.nodes = {
      {.node = NodeId("n1"), .capacity = {}, .before = {}, .reserved = {}, .available = {}}};
  EXPECT_EQ(plan_to_yaml(plan, 0), R"(revision: 0
placements:
- item: telemetry
  subject: vehicle
  index: 0
  version: "1.2"
  node: n1
  runtime: runc
  image: 0
  action: move
  from:
    node: "no"
    runtime: runc
refused: []
stops: []
nodes:
- node: n1
  cpu:
    capacity: 0
    reserved: 0
    available: 0
  ram:
    capacity: 0
    reserved: 0
    available: 0
)");
}

TEST(ExplanationToJson, TellsPlaceAndVerdictsWithPhrases) {
  Plan plan;
  plan.placements = {{key("a"), "1", place("n1"), 0, Action::Start, std::nullopt}};
  const placement::Explanation explanation{
      key("a"), "placed on n1", {a_verdict("n2", Reason::NoMatchingLabels)}};
  const json answer = json::parse(explanation_to_json(plan, explanation));
  const json& now = answer["now"];
  EXPECT_EQ(now["summary"], "placed on n1");
  EXPECT_EQ(now["placement"]["node"], "n1");
  EXPECT_EQ(now["nodes"][0]["detail"], "a phrase for people");
  EXPECT_FALSE(now.contains("hint"));
  EXPECT_FALSE(answer.contains("decision"));
}

model::DecisionRecord a_decision() {
  model::DecisionRecord decision{.key = key("a"), .revision = 7, .text = "1 on n1/runc"};
  decision.place = place("n1");
  decision.answers = model::answers_of(
      {{.node = NodeId("n1"), .reason = {}, .behind = {}, .has = 900, .what = "runc"},
       {.node = NodeId("n2"),
        .reason = Reason::InsufficientCpu,
        .behind = {},
        .asked = 600,
        .has = 412,
        .what = {}}},
      3);
  return decision;
}

TEST(ExplanationToJson, TellsWhatWasDecidedWithTheFiguresOfThen) {
  Plan plan;
  plan.placements = {{key("a"), "1", place("n1"), 0, Action::Keep, std::nullopt}};
  const model::DecisionRecord decision = a_decision();
  const json answer = json::parse(explanation_to_json(plan, {key("a"), "kept", {}}, &decision));
  const json& decided = answer["decision"];
  EXPECT_EQ(decided["revision"], 7);
  EXPECT_EQ(decided["kind"], "Placed");
  EXPECT_EQ(decided["summary"], "Placed 1 on n1/runc");
  EXPECT_EQ(decided["placement"]["runtime"], "runc");
  EXPECT_EQ(decided["nodes"][0]["detail"], "best fit, on runc: 900 DMIPS left");
  EXPECT_EQ(decided["nodes"][1]["reason"], "InsufficientCpu");
  EXPECT_EQ(decided["nodes"][1]["asked"], 600);
  EXPECT_EQ(decided["nodes"][1]["has"], 412);
  EXPECT_EQ(decided["nodes"][1]["detail"], "asked 600, has 412 DMIPS");
  EXPECT_EQ(decided["leftOut"], 3);
  EXPECT_EQ(decided["stands"], true);
  EXPECT_EQ(answer["now"]["summary"], "kept");
}

TEST(ExplanationToJson, ADecisionStandsNoMoreIfAnotherWouldBeMade) {
  const auto stands = [](const Plan& plan, const model::DecisionRecord& decision) {
    const json answer = json::parse(explanation_to_json(plan, {key("a"), "", {}}, &decision));
    return answer["decision"]["stands"].get<bool>();
  };
  Plan moves;
  moves.placements = {{key("a"), "1", place("n2"), 0, Action::Move, place("n1")}};
  EXPECT_FALSE(stands(moves, a_decision()));
  model::DecisionRecord refusal{.key = key("a"), .kind = model::DecisionKind::Refused};
  refusal.reason = Reason::InsufficientCpu;
  refusal.hint = "free 188 DMIPS on n1";
  EXPECT_FALSE(stands(moves, refusal));
  Plan refuses;
  refuses.refused = {{.key = key("a"),
                      .reason = Reason::InsufficientCpu,
                      .nodes = {},
                      .hint = "free 188 DMIPS on n1"}};
  EXPECT_TRUE(stands(refuses, refusal));
  refuses.refused[0].hint = "free 20 DMIPS on n2";
  EXPECT_FALSE(stands(refuses, refusal)) << "there is another way out now";
}

TEST(ExplanationToJson, ADecisionStandsIfThePlanHasNothingToSayAboutIt) {
  const auto stands = [](const Plan& plan, const model::DecisionRecord& decision) {
    const json answer = json::parse(explanation_to_json(plan, {key("a"), "", {}}, &decision));
    return answer["decision"]["stands"].get<bool>();
  };
  EXPECT_TRUE(stands({}, a_decision())) << "a component that was adopted, and nobody asks for";
  Plan stops;
  stops.stops = {{key("a"), "1", place("n1")}};
  EXPECT_FALSE(stands(stops, a_decision()));
  Plan places;
  places.placements = {{key("a"), "1", place("n2"), 0, Action::Start, std::nullopt}};
  const model::DecisionRecord without_ids{
      .key = key("a"), .kind = model::DecisionKind::Refused, .text = "1: NoFreeUserId"};
  EXPECT_TRUE(stands(places, without_ids)) << "the nodes have room, but that is not what is short";
}

TEST(ExplanationToJson, TellsTheReasonAndTheHintOfARefusal) {
  Plan plan;
  plan.refused = {a_refusal({})};
  const json answer = json::parse(explanation_to_json(plan, {key("camera"), "refused", {}}));
  EXPECT_EQ(answer["now"]["reason"], "InsufficientCpu");
  EXPECT_EQ(answer["now"]["hint"], "free 188 DMIPS on n1");
}

}  // namespace
}  // namespace berth::codec
