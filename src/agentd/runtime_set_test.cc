#include "agentd/runtime_set.h"

#include <gtest/gtest.h>

#include "agentd/testing/fakes.h"

namespace berth::agentd {
namespace {

class RuntimesOfANode : public ::testing::Test {
 protected:
  RuntimeSet::Change offer(const std::vector<RuntimeConfig>& wanted) {
    return runtimes_.offer(wanted, [this](const RuntimeConfig& config) {
      ++made_;
      return std::make_shared<OrderedRuntime>(
          [&](runtime::RunListener& listener) {
            return machine_.make_runtime(config.name, listener);
          },
          [](agent::Event) {});
    });
  }
  RuntimeRef find(const std::string& name) { return runtimes_.find(model::RuntimeId(name)); }

  testing::FakeMachine machine_;
  RuntimeSet runtimes_;
  int made_ = 0;
};

TEST_F(RuntimesOfANode, AreMadeOnceAndOfferedInTheirOrder) {
  offer({{.name = "a"}, {.name = "b"}});
  const auto change = offer({{.name = "b", .grace = 9s}, {.name = "a"}, {.name = "c"}});
  EXPECT_EQ(made_, 3);
  ASSERT_EQ(change.offered.size(), 3U);
  EXPECT_EQ(change.offered[0].runtime, find("b"));
  EXPECT_EQ(change.offered[0].config.grace, 9s);
  EXPECT_EQ(change.offered[2].runtime, find("c"));
  EXPECT_TRUE(change.refused.empty());
}

TEST_F(RuntimesOfANode, OneThatIsNotOfferedGoesWhenNothingRunsOnIt) {
  offer({{.name = "a"}, {.name = "b"}});
  find("a")->start({testing::a_spec("web"), {}});
  offer({});
  runtimes_.drop_idle();
  EXPECT_TRUE(find("a"));
  EXPECT_FALSE(find("b"));
  machine_.end("web", 0);
  runtimes_.drop_idle();
  EXPECT_FALSE(find("a"));
}

TEST_F(RuntimesOfANode, OneThatIsInUseStaysUntilItIsNot) {
  offer({{.name = "a"}});
  RuntimeRef used = find("a");
  offer({});
  runtimes_.drop_idle();
  EXPECT_TRUE(find("a"));
  used.reset();
  runtimes_.drop_idle();
  EXPECT_FALSE(find("a"));
}

TEST_F(RuntimesOfANode, TypeAndProgramStayAsTheyAreWhileItIsThere) {
  offer({{.name = "a", .type = model::RuntimeType::Runc, .program = "/one"}});
  const RuntimeRef before = find("a");
  const auto change = offer({{.name = "a", .type = model::RuntimeType::Runc, .program = "/other"}});
  ASSERT_EQ(change.refused.size(), 1U);
  EXPECT_NE(change.refused[0].find("runtime a is there already"), std::string::npos);
  EXPECT_EQ(change.offered[0].runtime, before);
}

TEST_F(RuntimesOfANode, OneThatHasGoneCanComeBackAsAnother) {
  offer({{.name = "a", .type = model::RuntimeType::Runc, .program = "/one"}});
  offer({});
  const auto change = offer({{.name = "a", .type = model::RuntimeType::Runc, .program = "/other"}});
  EXPECT_TRUE(change.refused.empty());
  EXPECT_EQ(made_, 2);
}

}  // namespace
}  // namespace berth::agentd
