#include "agentd/performer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <set>
#include <string>

#include "agent/fetched_image.h"
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
  RuntimeSet runtimes;
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
  const EraseData nothing_to_erase = [](const model::InstanceKey&, const std::stop_token&) {
    return Result<void>{};
  };
  Performer performer(runtimes, no_checks, nothing_to_erase, ignore, 1);
  model::InstanceSpec component = a_spec("os");
  component.runtime = model::RuntimeId("rootfs");
  performer.perform(agent::Start{component, {}});
  performer.perform(agent::Start{a_spec("web"), {}});
  EXPECT_TRUE(machine.wait([&] { return machine.running() == 1; }));
  performer.stop();
}

// An image takes until the agent leaves, or it is let go.
class SlowImages final : public runtime::Runtime {
 public:
  model::Runtime describe() const override {
    model::Runtime runtime;
    runtime.id = model::RuntimeId("runc");
    runtime.type = model::RuntimeType::Runc;
    return runtime;
  }
  runtime::ProbeResult probe(Duration) override { return {}; }
  Result<std::vector<model::FoundRun>> list() override { return std::vector<model::FoundRun>{}; }
  bool is_prepared(const model::InstanceSpec& spec) override {
    return spec.key.item.value() == "there";
  }
  tl::expected<void, model::Problem> prepare(const model::InstanceSpec& spec) override {
    if (!agent::fetched_image_of(spec)->starts_with("docker://slow/")) return {};
    ++pulls;
    pulls.notify_all();
    left_.wait();
    return tl::unexpected(model::Problem{"ImagePullFailed", "the agent has left"});
  }
  tl::expected<void, model::Problem> start(const model::InstanceSpec&,
                                           const model::RunId&) override {
    return {};
  }
  void leave() override { leaving_.set_value(); }
  void stop(const model::InstanceKey&, const model::RunId&, Duration) override {}
  Result<void> pause(const model::InstanceKey&) override { return {}; }
  Result<void> resume(const model::InstanceKey&) override { return {}; }
  std::map<model::InstanceKey, runtime::Consumption> measure() override { return {}; }
  Result<std::unique_ptr<runtime::ExecSession>> exec(const model::InstanceKey&,
                                                     const runtime::ExecRequest&,
                                                     runtime::ExecListener) override {
    return not_found("nothing runs");
  }

  static inline std::atomic<int> pulls = 0;

 private:
  std::promise<void> leaving_;
  std::shared_future<void> left_ = leaving_.get_future().share();
};

agent::Prepare prepare(const std::string& item, const std::string& image) {
  model::InstanceSpec spec = a_spec(item);
  spec.runtime = model::RuntimeId("runc");
  spec.item.images = {{{}, {}, model::OciImage{image}}};
  return {spec, {1, 1}, 1};
}

TEST(Performer, NothingWaitsForImagesAndWhoWantTheSameOneShareOnePull) {
  std::mutex mutex;
  std::condition_variable changed;
  std::multiset<std::string> answers;
  const Tell note = [&](const agent::Event& event) {
    const std::lock_guard lock(mutex);
    if (const auto* there = std::get_if<agent::Prepared>(&event)) {
      answers.insert(there->key.item.value());
    } else if (const auto* failed = std::get_if<agent::PrepareFailed>(&event)) {
      answers.insert("not " + failed->key.item.value());
    } else if (const auto* started = std::get_if<agent::Started>(&event)) {
      answers.insert("started " + started->key.item.value());
    }
    changed.notify_all();
  };
  const auto has = [&](const std::string& answer) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, testing::kPatience, [&] { return answers.contains(answer); });
  };
  RuntimeSet runtimes;
  runtimes.offer({{.name = "runc", .type = model::RuntimeType::Runc}}, [&](const RuntimeConfig&) {
    const MakeRuntime make = [](runtime::RunListener&) { return std::make_unique<SlowImages>(); };
    return std::make_shared<OrderedRuntime>(make, note);
  });
  const CheckHealth no_checks = [](const agent::CheckHealth&) { return agent::HealthChecked{}; };
  const EraseData nothing_to_erase = [](const model::InstanceKey&, const std::stop_token&) {
    return Result<void>{};
  };
  Performer performer(runtimes, no_checks, nothing_to_erase, note, 1);
  for (const std::string image : {"one", "two", "three", "four"}) {
    performer.perform(prepare("of-" + image, "docker://slow/" + image));
    performer.perform(prepare("also-of-" + image, "docker://slow/" + image));
  }
  performer.perform(prepare("local", "images/web:1"));
  performer.perform(prepare("quick", "docker://quick/web:1"));
  EXPECT_TRUE(has("local"));
  EXPECT_TRUE(has("quick"));
  performer.perform(prepare("there", "five"));
  EXPECT_TRUE(has("there"));
  performer.perform(agent::Start{prepare("there", "five").spec, {}});
  EXPECT_TRUE(has("started there"));
  // The first three are under way: what has not begun when the agent ends is nobody's concern.
  for (int begun = 0; begun < 3; begun = SlowImages::pulls) SlowImages::pulls.wait(begun);
  performer.stop();
  EXPECT_TRUE(has("not of-one"));
  EXPECT_TRUE(has("not also-of-one"));
  EXPECT_LE(SlowImages::pulls, 4);
}

// One runtime that writes down what is asked of it.
class OrderOfThings : public ::testing::Test {
 protected:
  OrderOfThings() {
    runtimes_.offer({{.name = "process"}}, [this](const RuntimeConfig&) {
      const MakeRuntime make = [this](runtime::RunListener& listener) {
        return machine_.make_runtime("process", listener);
      };
      return std::make_shared<OrderedRuntime>(make, ignore_);
    });
  }

  testing::FakeMachine machine_;
  RuntimeSet runtimes_;
  const Tell ignore_ = [](agent::Event) {};
  const CheckHealth no_checks_ = [](const agent::CheckHealth&) { return agent::HealthChecked{}; };
  const EraseData nothing_to_erase_ = [](const model::InstanceKey&, const std::stop_token&) {
    return Result<void>{};
  };
};

TEST_F(OrderOfThings, TheEndOfARunIsForgottenBeforeTheNextIsStarted) {
  std::promise<void> go;
  std::promise<void> busy;
  const TidyImages hang = [&](const std::set<std::string>&) {
    busy.set_value();
    go.get_future().wait();
  };
  Performer performer(runtimes_, no_checks_, nothing_to_erase_, ignore_, 1, nullptr, hang);
  std::vector<std::string> forgotten_at_start{"it was not started"};
  machine_.when_started = [&](const model::InstanceSpec&) {
    forgotten_at_start = machine_.forgotten();
  };
  performer.perform(agent::TidyImages{});
  busy.get_future().wait();
  performer.forget(agent::Exited{testing::key_of("web"), {{1, 1}, 0}, 0});
  performer.perform(agent::Start{a_spec("web"), {{1, 1}, 1}, {}});
  EXPECT_TRUE(machine_.wait([&] { return machine_.running() == 1; }));
  EXPECT_EQ(forgotten_at_start, std::vector<std::string>{"web"});
  go.set_value();
  performer.stop();
}

TEST_F(OrderOfThings, TheEndOfTheAgentDoesNotWaitForAnErasure) {
  std::promise<void> begun;
  const EraseData endless = [&](const model::InstanceKey&, const std::stop_token& leaving) {
    std::promise<void> told;
    const std::stop_callback when_told(leaving, [&] { told.set_value(); });
    begun.set_value();
    told.get_future().wait();
    return Result<void>(Error{Code::Unavailable, "interrupted"});
  };
  Performer performer(runtimes_, no_checks_, endless, ignore_, 1);
  performer.perform(agent::EraseData{testing::key_of("web")});
  begun.get_future().wait();
  performer.perform(agent::Start{a_spec("other"), {{1, 1}, 0}, {}});
  EXPECT_TRUE(machine_.wait([&] { return machine_.running() == 1; }));
  performer.stop();
}

agent::CheckHealth check_of(const std::string& item) { return {a_spec(item), {{1, 1}, 0}}; }

TEST_F(OrderOfThings, ManyChecksHangSideBySide) {
  constexpr int kHanging = 16;
  std::latch all(kHanging);  // only passed if they are made at the same time
  const CheckHealth meet = [&](const agent::CheckHealth&) {
    all.arrive_and_wait();
    return agent::HealthChecked{};
  };
  Performer performer(runtimes_, meet, nothing_to_erase_, ignore_, 1);
  for (int i = 0; i < kHanging; ++i) performer.perform(check_of(std::to_string(i)));
  all.wait();
  performer.stop();
}

TEST_F(OrderOfThings, ACheckIsSaidToBeginWhenItDoesAndIsMadeOnceHoweverOftenItWasAskedFor) {
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> told;
  const CheckHealth hang = [&](const agent::CheckHealth& check) {
    gone.wait();
    return agent::HealthChecked{check.spec.key, check.run, true, ""};
  };
  const Tell note = [&](const agent::Event& event) {
    const std::lock_guard lock(mutex);
    if (const auto* begun = std::get_if<agent::CheckBegun>(&event)) {
      told.push_back(begun->key.item.value() + " begins");
    } else if (const auto* checked = std::get_if<agent::HealthChecked>(&event)) {
      told.push_back(checked->key.item.value() + " is checked");
    }
    changed.notify_all();
  };
  const auto count = [&](const std::string& what) {
    return std::count(told.begin(), told.end(), what);
  };
  Performer performer(runtimes_, hang, nothing_to_erase_, note, 1);
  for (int i = 0; i < 16; ++i) performer.perform(check_of(std::to_string(i)));
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, testing::kPatience, [&] { return told.size() == 16; }));
  }
  for (int i = 0; i < 3; ++i) performer.perform(check_of("late"));
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(count("late begins"), 0);
  }
  go.set_value();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(
      changed.wait_for(lock, testing::kPatience, [&] { return count("late is checked") == 1; }));
  EXPECT_EQ(count("late begins"), 1);
  lock.unlock();
  performer.stop();
  EXPECT_EQ(count("late is checked"), 1);
}

}  // namespace
}  // namespace berth::agentd
