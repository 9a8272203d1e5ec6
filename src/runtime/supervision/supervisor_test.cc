#include "runtime/supervision/supervisor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "runtime/conformance.h"
#include "runtime/process/process_table.h"
#include "runtime/supervision/intervention.h"

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
                           .shim = std::filesystem::path(BERTH_BIN_DIR) / "berth-shim",
                           .between_looks = 50ms},
        listener);
  }

  shim::Launch launch(std::vector<std::string> argv) const {
    return {.argv = std::move(argv),
            .env = {"PATH=/bin:/usr/bin", "BERTH_RUN=" + state_dir_.string()},
            .log_directory = state_dir_.string(),
            .log_bytes = 10'000,
            .log_files = 1};
  }

  // Another run of the same.
  model::FoundRun nth(std::uint32_t attempt) const {
    model::FoundRun other = found_;
    other.run.attempt = attempt;
    return other;
  }

  void stop_and_wait(const model::FoundRun& run) {
    supervisor_->stop(run.key, run.run, 1h);
    EXPECT_EQ(ends_.wait_for(run.key, run.run)->code, 143);
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

std::size_t open_descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

TEST_F(SupervisorTest, ARunCostsOneDescriptor) {
  constexpr std::uint32_t kRuns = 8;
  const auto start = [&](std::uint32_t attempt) {
    return supervisor_->start(nth(attempt), [&](const RunDirectory&) {
      return launch({"sleep", "1000"});
    });
  };
  ASSERT_TRUE(start(kRuns));  // what is opened once for all is no cost of a run
  stop_and_wait(nth(kRuns));
  const std::size_t before = open_descriptors();
  for (std::uint32_t attempt = 0; attempt < kRuns; ++attempt) {
    ASSERT_TRUE(start(attempt));
  }
  EXPECT_LE(open_descriptors(), before + kRuns);
  for (std::uint32_t attempt = 0; attempt < kRuns; ++attempt) stop_and_wait(nth(attempt));
  // Who ends is told a moment before its last descriptor is closed.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (open_descriptors() > before && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(open_descriptors(), before);
}

// Lets this process open no more than it has open.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &usual_);
    const shim::Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit none{static_cast<rlim_t>(next.get()), usual_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &usual_); }

 private:
  rlimit usual_{};
};

TEST_F(SupervisorTest, ARunIsNotGivenUpForWantOfDescriptors) {
  ASSERT_TRUE(supervisor_->start(found_, [&](const RunDirectory&) {
    return launch({"sleep", "1000"});
  }));
  open();
  {
    const NoDescriptors none;
    EXPECT_FALSE(supervisor_->list());
    directory().remove();
  }
  EXPECT_TRUE(directory().is_supervised());
  EXPECT_EQ(supervisor_->list()->size(), 1U);
  EXPECT_EQ(ends_.count(), 0U);
  stop_and_wait(found_);
}

TEST_F(SupervisorTest, AShimThatStandsStillIsToldToGoOnAndThatIsSaid) {
  ASSERT_TRUE(supervisor_->start(found_, [&](const RunDirectory&) {
    return launch({"sleep", "1000"});
  }));
  const pid_t shim = supervisor_->find(found_.key)->shim;
  ::kill(shim, SIGSTOP);
  const auto remark = ends_.wait_for_remark("SupervisorStopped");
  ASSERT_TRUE(remark);
  EXPECT_THAT(remark->message, HasSubstr(std::to_string(shim)));
  EXPECT_TRUE(ends_.wait_for_remark("")) << "it goes on";
  EXPECT_NE(read_process(shim)->state, 'T');
  EXPECT_EQ(ends_.count(), 0U);
  stop_and_wait(found_);
}

TEST_F(SupervisorTest, AShimThatStandsStillCarriesOutAStopAtOnce) {
  ASSERT_TRUE(supervisor_->start(found_, [&](const RunDirectory&) {
    return launch({"sleep", "1000"});
  }));
  ::kill(supervisor_->find(found_.key)->shim, SIGSTOP);
  supervisor_->stop(found_.key, found_.run, 1h);
  EXPECT_EQ(ends_.wait_for(found_.key, found_.run)->code, 143);
}

// Plays a shim that hears nothing, with a program that can be asked to end.
[[noreturn]] void play_a_deaf_shim(const RunDirectory& directory) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  const int lock = ::open((directory.path() / shim::kLockFile).c_str(), O_RDWR | O_CREAT, 0600);
  ::flock(lock, LOCK_EX);
  const pid_t program = ::fork();
  if (program == 0) {
    ::close(lock);
    ::setsid();
    ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
    for (;;) ::pause();
  }
  static_cast<void>(directory.write(shim::kShimFile, std::to_string(::getpid())));
  static_cast<void>(directory.write(shim::kPidFile, std::to_string(program)));
  for (;;) ::pause();
}

TEST_F(SupervisorTest, AProgramWhoseShimDoesNotHearIsAskedToEndByTheAgent) {
  ASSERT_TRUE(directory().create({found_, {model::RuntimeId{"process"}}, boot_of_machine()}));
  ASSERT_TRUE(directory().write(shim::kLaunchFile, encode(launch({"sleep", "1000"}))));
  supervisor_.reset();  // no thread of it shall be copied
  const pid_t shim = ::fork();
  if (shim == 0) play_a_deaf_shim(directory());
  ASSERT_TRUE(eventually([&] { return directory().pid(shim::kPidFile).has_value(); }));
  open();
  ASSERT_EQ(supervisor_->list()->size(), 1U);
  supervisor_->stop(found_.key, found_.run, 1h);
  const auto end = ends_.wait_for(found_.key, found_.run);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 137);
  EXPECT_THAT(end->problem.message, HasSubstr("did not carry out the stop"));
  EXPECT_TRUE(ends_.wait_for_remark("SupervisorStopped"));
  EXPECT_TRUE(eventually([&] { return !directory().has(""); })) << "it is forgotten";
  int status = 0;
  ::waitpid(shim, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Intervention, WaitsForAShimThatHasHeard) {
  StopUnderWay stop{.since = 10s, .grace = 1s};
  EXPECT_EQ(intervention_in(stop), Intervention::None);
  stop.since = 11s;
  EXPECT_EQ(intervention_in(stop), Intervention::KillShim);
}

TEST(Intervention, AsksTheProgramInPlaceOfAShimThatHasNotHeardAndKillsBothAfterTheGrace) {
  StopUnderWay stop{.since = 1999ms, .grace = 5s, .has_heard = false, .can_be_asked = true};
  EXPECT_EQ(intervention_in(stop), Intervention::None);
  stop.since = 2s;
  EXPECT_EQ(intervention_in(stop), Intervention::AskProgram);
  stop.since = 5s;
  EXPECT_EQ(intervention_in(stop), Intervention::KillShim);
}

TEST(Intervention, KillsAShimThatHasNotHeardOnceItsProgramIsGone) {
  const StopUnderWay stop{.since = 2s, .grace = 1h, .has_heard = false, .can_be_asked = false};
  EXPECT_EQ(intervention_in(stop), Intervention::KillShim);
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
                         "boot",
                         "0123abcd"};
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
