#include "cli/ask/condition.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

v1::Instance an_instance(const std::string& item, std::uint32_t index, v1::InstanceState state) {
  v1::Instance instance;
  instance.mutable_key()->set_item(item);
  instance.mutable_key()->set_subject("default");
  instance.mutable_key()->set_index(index);
  instance.set_state(state);
  instance.set_proven(state == v1::ACTIVE);
  return instance;
}

void put(Mirror& mirror, const v1::Instance& instance) {
  mirror.instances[key_of(instance.key())] = instance;
}

bool holds(const char* text, const Mirror& mirror, const std::vector<Run>& runs = {}) {
  return holds(*parse_condition(text), mirror, runs);
}

const std::vector<Run> kTwoOfWeb{{model::ItemId("web"), model::SubjectId("default"), 2}};

TEST(Condition, IsReadAndWritten) {
  for (const char* text : {"instance/web=active", "node/n1=reachable", "deployment/base=gone",
                           "instance/web/vehicle/1=failed"}) {
    const auto condition = parse_condition(text);
    ASSERT_TRUE(condition) << text;
    EXPECT_EQ(to_string(*condition), text);
  }
  EXPECT_EQ(parse_condition("i/web=Active")->value, "active");
  for (const char* text : {"", "web", "instance/web", "instance=active", "item/web=active",
                           "instance/=active", "instance/web=good", "node/n1=active"}) {
    EXPECT_FALSE(parse_condition(text)) << text;
  }
}

TEST(Condition, OfAnInstanceNeedsItInThatState) {
  Mirror mirror;
  EXPECT_FALSE(holds("instance/web=active", mirror));
  EXPECT_TRUE(holds("instance/web=gone", mirror));
  put(mirror, an_instance("web", 0, v1::ACTIVATING));
  EXPECT_FALSE(holds("instance/web=active", mirror));
  EXPECT_FALSE(holds("instance/web=gone", mirror));
  put(mirror, an_instance("web", 0, v1::ACTIVE));
  EXPECT_TRUE(holds("instance/web=active", mirror));
  EXPECT_FALSE(holds("instance/web/default/1=active", mirror));
}

TEST(Condition, IsNotSatisfiedByWhatHasNotShownThatItStaysUp) {
  Mirror mirror;
  v1::Instance instance = an_instance("web", 0, v1::ACTIVE);
  instance.set_proven(false);
  put(mirror, instance);
  EXPECT_FALSE(holds("instance/web=active", mirror));
}

TEST(Condition, OfADeploymentHoldsAlsoForWhatHasDoneItsWork) {
  Mirror mirror;
  v1::Instance done = an_instance("web", 0, v1::INACTIVE);
  done.set_proven(true);
  put(mirror, done);
  put(mirror, an_instance("web", 1, v1::ACTIVE));
  EXPECT_TRUE(holds("deployment/base=active", mirror, kTwoOfWeb));
  EXPECT_FALSE(holds("instance/web=active", mirror));
}

TEST(Condition, IsNotSatisfiedByWhatNobodyCanVouchFor) {
  Mirror mirror;
  v1::Instance instance = an_instance("web", 0, v1::ACTIVE);
  instance.set_unverified(true);
  put(mirror, instance);
  EXPECT_FALSE(holds("instance/web=active", mirror));
}

TEST(Condition, OfADeploymentNeedsAllThatItRuns) {
  Mirror mirror;
  put(mirror, an_instance("web", 0, v1::ACTIVE));
  EXPECT_FALSE(holds("deployment/base=active", mirror, kTwoOfWeb));
  put(mirror, an_instance("web", 1, v1::ACTIVATING));
  EXPECT_FALSE(holds("deployment/base=active", mirror, kTwoOfWeb));
  EXPECT_EQ(state_instead(*parse_condition("deployment/base=active"), mirror, kTwoOfWeb),
            "web/default/1 is Activating");
  put(mirror, an_instance("web", 1, v1::ACTIVE));
  EXPECT_TRUE(holds("deployment/base=active", mirror, kTwoOfWeb));
}

TEST(Condition, OfANodeIsWhatWeHearOfIt) {
  Mirror mirror;
  v1::Node& node = mirror.nodes["n1"];
  node.set_liveness("reachable");
  node.set_services(1);
  EXPECT_TRUE(holds("node/n1=reachable", mirror));
  EXPECT_TRUE(holds("node/n1=schedulable", mirror));
  EXPECT_FALSE(holds("node/n1=empty", mirror));
  node.set_cordoned(true);
  node.set_services(0);
  EXPECT_FALSE(holds("node/n1=schedulable", mirror));
  EXPECT_TRUE(holds("node/n1=cordoned", mirror));
  EXPECT_TRUE(holds("node/n1=empty", mirror));
  EXPECT_TRUE(holds("node/n2=gone", mirror));
}

TEST(RunsOf, ReadsCountsAndAll) {
  google::protobuf::Struct document;
  auto& run =
      *(*(*document.mutable_fields())["spec"].mutable_struct_value()->mutable_fields())["run"]
           .mutable_list_value();
  auto& one = *run.add_values()->mutable_struct_value()->mutable_fields();
  one["item"].set_string_value("web");
  one["instances"].set_number_value(3);
  auto& all = *run.add_values()->mutable_struct_value()->mutable_fields();
  all["item"].set_string_value("probe");
  all["subject"].set_string_value("s");
  all["instances"].set_string_value("all");
  const auto runs = runs_of(document);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].count, 3u);
  EXPECT_EQ(runs[0].subject.value(), "default");
  EXPECT_EQ(runs[1].count, std::nullopt);
  EXPECT_EQ(runs[1].subject.value(), "s");
}

}  // namespace
}  // namespace berth::cli
