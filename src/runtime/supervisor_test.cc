#include "runtime/supervisor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "runtime/conformance.h"

namespace berth::runtime {
namespace {

using testing::HasSubstr;

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    std::string path = (std::filesystem::temp_directory_path() / "berth-runs-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    state_dir_ = path;
    open();
  }
  ~SupervisorTest() override {
    supervisor_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(state_dir_, ignored);
  }

  void open() { open(ends_); }
  void open(RunListener& listener) {
    supervisor_.reset();
    supervisor_ = std::make_unique<Supervisor>(
        Supervisor::Config{.runtime = {.id = model::RuntimeId{"process"}},
                           .state_dir = state_dir_,
                           .shim = std::filesystem::path(BERTH_BIN_DIR) / "berth-shim"},
        listener);
  }

  shim::Launch launch(std::vector<std::string> argv) const {
    return {.argv = std::move(argv),
            .env = {"PATH=/bin:/usr/bin", "BERTH_RUN=" + state_dir_.string()},
            .log_directory = state_dir_.string(),
            .log_bytes = 10'000,
            .log_files = 1};
  }

  RunDirectory directory() const { return {state_dir_, found_.key, found_.run}; }

  const model::FoundRun found_{{model::ItemId{"../item"}, model::SubjectId{""}, 3},
                               {{1, 2}, 3},
                               model::ItemType::Service,
                               "1"};
  std::filesystem::path state_dir_;
  Ends ends_;
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, AStopEndsAStartThatIsUnderWay) {
  const auto started = supervisor_->start(found_, [&](const RunDirectory&) {
    supervisor_->stop(found_.key, found_.run, 1h);
    return launch({"sleep", "1000"});
  });
  EXPECT_FALSE(started);
  EXPECT_TRUE(ends_.wait_for(found_.key, found_.run));
  EXPECT_TRUE(supervisor_->list()->empty());
  EXPECT_FALSE(directory().has(""));
}

TEST_F(SupervisorTest, AProblemOfThePreparationIsTheProblem) {
  const auto started = supervisor_->start(found_, [](const RunDirectory&) -> Started<shim::Launch> {
    return tl::unexpected(model::Problem{"ImageNotFound", "none"});
  });
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error(), (model::Problem{"ImageNotFound", "none"}));
  EXPECT_EQ(ends_.count(), 0U);
}

TEST_F(SupervisorTest, ARunIsStartedOnce) {
  const auto prepare = [&](const RunDirectory&) { return launch({"sleep", "1000"}); };
  ASSERT_TRUE(supervisor_->start(found_, prepare));
  EXPECT_FALSE(supervisor_->start(found_, prepare));
  EXPECT_EQ(supervisor_->list()->size(), 1U);
  supervisor_->stop(found_.key, found_.run, 10s);
  EXPECT_EQ(ends_.wait_for(found_.key, found_.run)->code, 143);
}

TEST_F(SupervisorTest, WhatRanWhenTheMachineWentDownIsLost) {
  ASSERT_TRUE(directory().create({found_, {model::RuntimeId{"process"}}, "another boot"}));
  ASSERT_TRUE(directory().write(shim::kLockFile, ""));
  ASSERT_TRUE(directory().write(shim::kShimFile, "1"));  // whose number it is by now
  EXPECT_EQ(supervisor_->list()->size(), 1U);
  const auto end = ends_.wait_for(found_.key, found_.run);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 137);
  EXPECT_EQ(end->problem.reason, "Lost");
  EXPECT_THAT(end->problem.message, HasSubstr("restarted"));
}

TEST_F(SupervisorTest, AStartThatWasCutOffBeforeTheShimLeavesNothing) {
  ASSERT_TRUE(directory().create({found_, {model::RuntimeId{"process"}}, boot_of_machine()}));
  EXPECT_TRUE(supervisor_->list()->empty());
  EXPECT_FALSE(directory().has(""));
}

TEST_F(SupervisorTest, RunsOfOtherRuntimesAreLeftAlone) {
  ASSERT_TRUE(directory().create({found_, {model::RuntimeId{"runc"}}, boot_of_machine()}));
  EXPECT_TRUE(supervisor_->list()->empty());
  EXPECT_TRUE(directory().has(""));
  supervisor_->stop(found_.key, found_.run, 0s);
  EXPECT_TRUE(ends_.wait_for(found_.key, found_.run));
  EXPECT_TRUE(directory().has(""));
}

TEST_F(SupervisorTest, AStopThatWasCutOffBeforeTheSignalIsCarriedOut) {
  ASSERT_TRUE(supervisor_->start(found_, [&](const RunDirectory&) {
    return launch({"sleep", "1000"});
  }));
  supervisor_.reset();
  ASSERT_TRUE(directory().write(shim::kStopFile, "60000"));
  open();
  EXPECT_EQ(supervisor_->list()->size(), 1U);
  EXPECT_EQ(ends_.wait_for(found_.key, found_.run)->code, 143);
}

class Starts final : public Ends {
 public:
  void started(const model::InstanceKey&, const model::RunId& run) override { runs.set_value(run); }
  std::promise<model::RunId> runs;
};

// This process plays its shim.
TEST_F(SupervisorTest, ARunThatAnEarlierLifeHasBegunToStartRunsWhenItsProgramDoes) {
  ASSERT_TRUE(directory().create({found_, {model::RuntimeId{"process"}}, boot_of_machine()}));
  const shim::Fd lock(
      ::open((directory().path() / shim::kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  ASSERT_TRUE(directory().write(shim::kShimFile, std::to_string(::getpid())));
  Starts starts;
  auto told = starts.runs.get_future();
  open(starts);
  ASSERT_EQ(supervisor_->list()->size(), 1U);
  EXPECT_TRUE(supervisor_->list()->front().starting);
  EXPECT_TRUE(supervisor_->running().empty());
  EXPECT_EQ(told.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  ASSERT_TRUE(directory().write(shim::kPidFile, "4711"));
  ASSERT_EQ(told.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(told.get(), found_.run);
  EXPECT_FALSE(supervisor_->list()->front().starting);
  EXPECT_EQ(supervisor_->find(found_.key)->program, 4711);
  supervisor_.reset();
}

// Runs end, and with that change their place, while they are put in order.
TEST_F(SupervisorTest, RunsThatEndWhileTheyAreListedAreListed) {
  constexpr std::uint32_t kRuns = 64;
  const auto directory_of = [&](std::uint32_t sequence) {
    return RunDirectory(state_dir_, found_.key, {{1, 2}, sequence});
  };
  for (std::uint32_t sequence = 0; sequence < kRuns; ++sequence) {
    model::FoundRun found = found_;
    found.run = {{1, 2}, sequence};
    ASSERT_TRUE(
        directory_of(sequence).create({found, {model::RuntimeId{"runc"}}, boot_of_machine()}));
  }
  std::atomic<bool> done = false;
  std::thread ending([&] {
    for (std::uint32_t i = 0; !done; ++i) {
      (void)directory_of(i * 29 % kRuns).write(shim::kExitFile, "0");
    }
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(supervisor_->list()->empty());  // they are of another
  done = true;
  ending.join();
}

TEST(RunRecord, IsReadAsItWasWritten) {
  const RunRecord record{{{model::ItemId{"a=b"}, model::SubjectId{"c\nd"}, 4'000'000'000},
                          {{~0ULL, 7}, 9},
                          model::ItemType::Function,
                          "1.0 beta"},
                         {model::RuntimeId{"second"}, model::RuntimeType::Runc, "/opt/runc"},
                         "boot"};
  EXPECT_EQ(decode_run_record(encode(record)), record);
  EXPECT_FALSE(decode_run_record(""));
  const std::string whole = encode(record);
  EXPECT_FALSE(decode_run_record(whole.substr(0, whole.size() - 5)));
}

TEST(FileNames, AreHarmlessAndDifferent) {
  EXPECT_EQ(file_name_of(std::string_view("telemetry-1.2_x")), "telemetry-1.2_x");
  EXPECT_EQ(file_name_of(std::string_view("../a b")), "%2E.%2Fa%20b");
  const std::string long_name(5000, '/');
  EXPECT_LT(file_name_of(std::string_view(long_name)).size(), 255U);
  EXPECT_NE(file_name_of(std::string_view(long_name)),
            file_name_of(std::string_view(long_name + "/")));
  const model::InstanceKey key{model::ItemId{long_name}, model::SubjectId{long_name}, 1};
  EXPECT_LT(file_name_of(key).size(), 255U);
}

}  // namespace
}  // namespace berth::runtime
