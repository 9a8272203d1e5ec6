#include "agentd/performer.h"

#include <gtest/gtest.h>

#include <future>

#include "agentd/testing/fakes.h"

namespace berth::agentd {
namespace {

using testing::a_spec;

// Its starts take until the agent leaves.
class SlowComponents final : public runtime::Runtime {
 public:
  model::Runtime describe() const override {
    model::Runtime runtime;
    runtime.id = model::RuntimeId("rootfs");
    runtime.type = model::RuntimeType::Rootfs;
    return runtime;
  }
  runtime::ProbeResult probe(Duration) override { return {}; }
  Result<std::vector<model::FoundRun>> list() override { return std::vector<model::FoundRun>{}; }
  tl::expected<void, model::Problem> start(const model::InstanceSpec&,
                                           const model::RunId&) override {
    left_.get_future().wait();
    return tl::unexpected(model::Problem{"NotConfirmed", "the agent has left"});
  }
  void leave() override { left_.set_value(); }
  void stop(const model::InstanceKey&, const model::RunId&, Duration) override {}
  Result<void> pause(const model::InstanceKey&) override { return {}; }
  Result<void> resume(const model::InstanceKey&) override { return {}; }
  std::map<model::InstanceKey, runtime::Consumption> measure() override { return {}; }
  Result<std::unique_ptr<runtime::ExecSession>> exec(const model::InstanceKey&,
                                                     const runtime::ExecRequest&,
                                                     runtime::ExecListener) override {
    return not_found("nothing runs");
  }

 private:
  std::promise<void> left_;
};

TEST(Performer, NothingWaitsForAComponentThatIsBeingInstalledNotEvenTheEndOfTheAgent) {
  testing::FakeMachine machine;
  Runtimes runtimes;
  const Tell ignore = [](agent::Event) {};
  runtimes.offer({{.name = "process"}, {.name = "rootfs", .type = model::RuntimeType::Rootfs}},
                 [&](const RuntimeConfig& config) {
                   const MakeRuntime make =
                       [&](runtime::RunListener& listener) -> std::unique_ptr<runtime::Runtime> {
                     if (config.name == "process") return machine.make_runtime("process", listener);
                     return std::make_unique<SlowComponents>();
                   };
                   return std::make_shared<OrderedRuntime>(make, ignore);
                 });
  const CheckHealth no_checks = [](const agent::CheckHealth&) { return agent::HealthChecked{}; };
  const EraseData nothing_to_erase = [](const model::InstanceKey&) { return Result<void>{}; };
  Performer performer(runtimes, no_checks, nothing_to_erase, ignore, 1);
  model::InstanceSpec component = a_spec("os");
  component.runtime = model::RuntimeId("rootfs");
  performer.perform(agent::Start{component, {}});
  performer.perform(agent::Start{a_spec("web"), {}});
  EXPECT_TRUE(machine.wait([&] { return machine.running() == 1; }));
  performer.stop();
}

}  // namespace
}  // namespace berth::agentd
