#include "sim/demo.h"

#include <gtest/gtest.h>

namespace berth::sim {
namespace {

model::Node a_node(const char* name) {
  model::Node node;
  node.id = model::NodeId(name);
  node.info.capacity = {Dmips(1000), Bytes(1 << 30)};
  node.info.runtimes.push_back({.id = model::RuntimeId("process"),
                                .type = model::RuntimeType::Process,
                                .platform = {},
                                .limits = {}});
  return node;
}

model::Item an_item() {
  model::Item item;
  item.id = model::ItemId("hello");
  item.version = "1";
  item.images.push_back(
      {.platform = {}, .runtimes = {}, .form = model::CommandImage{{"/bin/hello"}}});
  item.request.cpu = Dmips(600);
  return item;
}

model::Deployment a_deployment(std::uint32_t instances) {
  model::RunRequest request;
  request.item = model::ItemId("hello");
  request.version = "1";
  request.instances = instances;
  return {.name = "demo", .run = {request}};
}

Setup calm() { return {.seed = 1, .faults = {}}; }

TEST(Demo, RunsWhatFitsAndSaysWhyTheRestDoesNot) {
  const auto outcome = run_demo(calm(), {a_node("n1"), a_node("n2"), an_item(), a_deployment(3)});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->missing.empty());
  EXPECT_TRUE(outcome->violations.empty());
  const std::string table = to_table(*outcome);
  EXPECT_NE(table.find("hello/default/0  1        n1/process    active"), std::string::npos)
      << table;
  EXPECT_NE(table.find("hello/default/1  1        n2/process    active"), std::string::npos)
      << table;
  EXPECT_NE(table.find("hello/default/2  1        -             failed InsufficientCpu"),
            std::string::npos)
      << table;
}

TEST(Demo, NeedsNodes) {
  const auto outcome = run_demo(calm(), {an_item(), a_deployment(1)});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::InvalidInput);
}

}  // namespace
}  // namespace berth::sim
