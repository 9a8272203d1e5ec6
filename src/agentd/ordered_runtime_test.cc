#include "agentd/ordered_runtime.h"

#include <gtest/gtest.h>

#include <variant>

#include "agentd/testing/fakes.h"

namespace berth::agentd {
namespace {

using testing::key_of;

// A runtime in which two runs end while it lists: one that the list holds, one that it does not.
class HastyRuntime final : public runtime::Runtime {
 public:
  explicit HastyRuntime(runtime::RunListener& listener) : listener_(listener) {}

  model::Runtime describe() const override {
    model::Runtime runtime;
    runtime.id = model::RuntimeId("process");
    return runtime;
  }
  runtime::ProbeResult probe(Duration) override { return {}; }
  Result<std::vector<model::FoundRun>> list() override {
    listener_.exited(key_of("before"), {}, 1, {});
    std::vector<model::FoundRun> found{{key_of("after"), {}, model::ItemType::Service, "1"}};
    listener_.exited(key_of("after"), {}, 2, {});
    listener_.remarked(key_of("after"), {}, {"StartSlow", ""});
    return found;
  }
  tl::expected<void, model::Problem> start(const model::InstanceSpec&,
                                           const model::RunId&) override {
    return tl::unexpected(model::Problem{"NoImage", "nothing there"});
  }
  void stop(const model::InstanceKey&, const model::RunId&, Duration) override {}
  Result<void> pause(const model::InstanceKey&) override { return {}; }
  Result<void> resume(const model::InstanceKey&) override { return {}; }
  std::map<model::InstanceKey, runtime::Consumption> measure() override { return {}; }
  Result<std::unique_ptr<runtime::ExecSession>> exec(const model::InstanceKey&,
                                                     const runtime::ExecRequest&,
                                                     runtime::ExecListener) override {
    return not_found("nothing");
  }

 private:
  runtime::RunListener& listener_;
};

struct Heard {
  std::vector<agent::Event> events;
  OrderedRuntime runtime{
      [](runtime::RunListener& listener) { return std::make_unique<HastyRuntime>(listener); },
      [this](agent::Event event) { events.push_back(std::move(event)); }};
};

TEST(OrderedRuntime, NoEndOfAListedRunAndNoRemarkOnItOvertakesTheList) {
  Heard heard;
  heard.runtime.list();
  ASSERT_EQ(heard.events.size(), 4U);
  EXPECT_EQ(std::get<agent::Exited>(heard.events[0]).key, key_of("before"));
  EXPECT_TRUE(std::holds_alternative<agent::RunsListed>(heard.events[1]));
  EXPECT_EQ(std::get<agent::Remarked>(heard.events[2]).remark.reason, "StartSlow");
  EXPECT_EQ(std::get<agent::Exited>(heard.events[3]).key, key_of("after"));
}

TEST(OrderedRuntime, AStartThatFailsSaysWhy) {
  Heard heard;
  heard.runtime.start({testing::a_spec("web"), {}});
  ASSERT_EQ(heard.events.size(), 1U);
  EXPECT_EQ(std::get<agent::StartFailed>(heard.events[0]).problem.reason, "NoImage");
}

}  // namespace
}  // namespace berth::agentd
