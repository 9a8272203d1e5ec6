#include "runtime/conformance.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "runtime/files/logs.h"
#include "runtime/files/run_directory.h"
#include "runtime/shim/launch.h"

namespace berth::runtime {

std::ostream& operator<<(std::ostream& out, const RuntimeUnderTest& runtime) {
  return out << model::to_string(runtime.type);
}

bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// --- What was told -------------------------------------------------------------------------------

void Ends::exited(const model::InstanceKey& key, const model::RunId& run, std::int32_t exit_code,
                  const model::Problem& problem) {
  const std::lock_guard lock(mutex_);
  ends_.push_back({key, run, exit_code, problem});
  changed_.notify_all();
}

std::optional<Ends::End> Ends::wait_for(const model::InstanceKey& key, const model::RunId& run) {
  std::unique_lock lock(mutex_);
  const auto find = [&] {
    return std::find_if(ends_.begin(), ends_.end(),
                        [&](const End& end) { return end.key == key && end.run == run; });
  };
  changed_.wait_for(lock, kPatience, [&] { return find() != ends_.end(); });
  return find() == ends_.end() ? std::nullopt : std::optional(*find());
}

void Ends::remarked(const model::InstanceKey&, const model::RunId&, const model::Problem& remark) {
  {
    const std::lock_guard lock(mutex_);
    remarks_.push_back(remark);
  }
  changed_.notify_all();
}

std::optional<model::Problem> Ends::wait_for_remark(const std::string& reason) {
  std::unique_lock lock(mutex_);
  const auto made = [&] {
    return std::find_if(remarks_.begin(), remarks_.end(),
                        [&](const model::Problem& one) { return one.reason == reason; });
  };
  changed_.wait_for(lock, kPatience, [&] { return made() != remarks_.end(); });
  return made() == remarks_.end() ? std::nullopt : std::optional(*made());
}

std::size_t Ends::count() const {
  const std::lock_guard lock(mutex_);
  return ends_.size();
}

// --- The machine ---------------------------------------------------------------------------------

RuntimeTest::RuntimeTest() {
  std::string path = (std::filesystem::temp_directory_path() / "berth-runtime-XXXXXX").string();
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  std::filesystem::permissions(path, std::filesystem::perms(0711));
  config_ = {.state_dir = path,
             .agent_id = "node-of-" + std::filesystem::path(path).filename().string(),
             .tag = std::filesystem::path(path).filename().string(),
             .shim = std::filesystem::path(BERTH_BIN_DIR) / "berth-shim",
             .dmips_per_core = 10'000,
             .image_dir = std::filesystem::temp_directory_path()};
}

RuntimeTest::~RuntimeTest() {
  if (runtime_) {
    open(type_);  // a listener that has heard of nothing yet
    for (const model::FoundRun& left : list()) {
      runtime_->stop(left.key, left.run, Duration{});
      EXPECT_TRUE(ends_->wait_for(left.key, left.run));
    }
  }
  close();
  std::error_code ignored;
  std::filesystem::remove_all(config_.state_dir, ignored);
}

model::RuntimeId RuntimeTest::id_of(model::RuntimeType type) {
  return model::RuntimeId{model::to_string(type)};
}

void RuntimeTest::open(const RuntimeSpec& spec) {
  spec_ = spec;
  open(spec.type);
}

void RuntimeTest::open(model::RuntimeType type) {
  close();
  type_ = type;
  ends_ = std::make_unique<Ends>();
  runtime_ = make_runtime(config_, spec_.value_or(RuntimeSpec{id_of(type), type}), *ends_);
}

void RuntimeTest::close() {
  runtime_.reset();
  ends_.reset();
}

model::RunId RuntimeTest::run(std::uint32_t attempt) {
  return {.generation = {.epoch = 1, .number = 7}, .attempt = attempt};
}

void RuntimeTest::start(const model::InstanceSpec& spec, std::uint32_t attempt) {
  const auto started = runtime_->start(spec, run(attempt));
  ASSERT_TRUE(started) << started.error().reason << ": " << started.error().message;
}

std::int32_t RuntimeTest::wait_for_exit(const model::InstanceSpec& spec, std::uint32_t attempt) {
  if (HasFatalFailure()) return -1;  // it was not started
  const auto end = ends_->wait_for(spec.key, run(attempt));
  EXPECT_TRUE(end) << "its end was not told";
  return end ? end->code : -1;
}

std::vector<model::FoundRun> RuntimeTest::list() {
  auto found = runtime_->list();
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::vector<model::FoundRun>{};
}

std::vector<std::string> RuntimeTest::output(const model::InstanceSpec& spec) {
  auto reader = LogReader::open(log_directory(config_.state_dir, spec.key), 1000);
  EXPECT_TRUE(reader);
  std::vector<std::string> lines;
  for (const LogLine& line : reader->read(Duration{})) {
    lines.push_back((line.from_stderr ? "E:" : "O:") + line.text);
  }
  return lines;
}

void RuntimeTest::wait_for_output(const model::InstanceSpec& spec, const std::string& line) {
  ASSERT_TRUE(eventually([&] {
    const auto lines = output(spec);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  })) << "it never said "
      << line;
}

std::optional<std::chrono::microseconds> RuntimeTest::cpu_time(const model::InstanceSpec& spec) {
  const auto measured = runtime_->measure();
  const auto found = measured.find(spec.key);
  if (found == measured.end()) return std::nullopt;
  return found->second.cpu_time;
}

void RuntimeTest::let_go(const model::InstanceSpec& spec) {
  const auto storage = config_.state_dir / "storage" / file_name_of(spec.key);
  const auto disk = storage / "storage.img";
  if (!std::filesystem::exists(disk)) {
    std::ofstream(storage / "go").put('\n');
  } else {
    std::fstream(disk, std::ios::in | std::ios::out | std::ios::binary) << "go\n";
  }
}

std::filesystem::path RuntimeTest::run_directory(const model::InstanceSpec& spec,
                                                 std::uint32_t attempt) {
  return RunDirectory(config_.state_dir, spec.key, run(attempt)).path();
}

RuntimeTest::ExecResult RuntimeTest::exec(const model::InstanceSpec& spec, ExecRequest request,
                                          std::string_view input) {
  ExecResult result;
  std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false;
  const ExecListener listener{.output =
                                  [&](std::string_view part, bool from_stderr) {
                                    (from_stderr ? result.error : result.output).append(part);
                                  },
                              .ended =
                                  [&](std::int32_t code) {
                                    const std::lock_guard lock(mutex);
                                    result.code = code;
                                    has_ended = true;
                                    changed.notify_all();
                                  }};
  auto session = runtime_->exec(spec.key, request, listener);
  EXPECT_TRUE(session) << session.error().message;
  if (!session) return result;
  EXPECT_EQ((*session)->write(input, kPatience).value_or(0), input.size());
  (*session)->close_input();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] { return has_ended; }));
  lock.unlock();
  session->reset();
  return result;
}

// --- The promises --------------------------------------------------------------------------------

void RuntimeConformance::SetUp() {
  const std::string why = GetParam().why_not();
  if (!why.empty()) GTEST_SKIP() << why;
  open(GetParam().type);
}

model::InstanceSpec RuntimeConformance::storing_script(const std::string& text) {
  auto spec = script(text);
  spec.item.quotas.storage = Bytes(4 << 20);
  return spec;
}

std::string RuntimeConformance::until_go() const {
  const std::string gone =
      GetParam().is_machine ? "dd if=$BERTH_STORAGE_DISK iflag=direct bs=512 count=1 2>/dev/null "
                              "| grep -q ^go"
                            : "[ -e $BERTH_STORAGE/go ]";
  return "until " + gone + "; do sleep 0.05; done; ";
}

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// With all that it was started with: an agent may have lost that.
model::FoundRun found(const model::InstanceSpec& spec, const model::RunId& run) {
  return {spec.key, run, spec.item.type, spec.item.version, false, spec};
}

model::FoundRun stopping(const model::InstanceSpec& spec, const model::RunId& run) {
  return {spec.key, run, spec.item.type, spec.item.version};
}

TEST_P(RuntimeConformance, IsReadyOnceProbed) {
  const model::Runtime described = runtime().describe();
  EXPECT_EQ(described.ready, model::Readiness::Unknown);
  EXPECT_EQ(described.id.value(), model::to_string(GetParam().type));
  EXPECT_EQ(described.type, GetParam().type);
  EXPECT_EQ(described.platform.os, "linux");
  const ProbeResult probed = runtime().probe(kPatience);
  EXPECT_EQ(probed.readiness(), model::Readiness::Ready) << probed.message;
  EXPECT_EQ(probed.reason, "");
}

TEST_P(RuntimeConformance, TellsTheExitCode) {
  const auto spec = script("exit 3");
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 3);
}

TEST_P(RuntimeConformance, TellsTheSignalThatEndedIt) {
  const auto spec = script("sh -c 'kill -9 $PPID'; sleep 60");
  if (GetParam().type != model::RuntimeType::Process)
    GTEST_SKIP() << "init ignores its own signals";
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 137);
}

TEST_P(RuntimeConformance, ListsWhatRuns) {
  EXPECT_TRUE(list().empty());
  const auto spec = script(kForEver);
  start(spec);
  EXPECT_THAT(list(), ElementsAre(found(spec, run(0))));
}

TEST_P(RuntimeConformance, StopsPolitelyFirst) {
  const auto spec = script("trap 'exit 7' TERM; " + kForEver);
  start(spec);
  wait_for_output(spec, "O:ready");
  runtime().stop(spec.key, run(0), 60s);
  EXPECT_EQ(wait_for_exit(spec), 7);
  EXPECT_TRUE(list().empty());
}

TEST_P(RuntimeConformance, StopsFinallyAfterTheGrace) {
  const auto spec = script("trap '' TERM; " + kForEver);
  start(spec);
  wait_for_output(spec, "O:ready");
  runtime().stop(spec.key, run(0), 200ms);
  EXPECT_EQ(wait_for_exit(spec), 137);
}

TEST_P(RuntimeConformance, ASecondStopMayShortenTheGrace) {
  const auto spec = script("trap '' TERM; " + kForEver);
  start(spec);
  wait_for_output(spec, "O:ready");
  runtime().stop(spec.key, run(0), 1h);
  runtime().stop(spec.key, run(0), 0s);
  EXPECT_EQ(wait_for_exit(spec), 137);
  EXPECT_EQ(ends().count(), 1U);
}

TEST_P(RuntimeConformance, TellsAtOnceThatAnUnknownRunIsOver) {
  const auto spec = script("exit 0");
  runtime().stop(spec.key, run(0), 1h);
  EXPECT_EQ(wait_for_exit(spec), 0);
}

TEST_P(RuntimeConformance, AStopGoesOnWithoutTheAgent) {
  const auto spec = script("trap '' TERM; " + kForEver);
  start(spec);
  wait_for_output(spec, "O:ready");
  runtime().stop(spec.key, run(0), 200ms);
  restart_agent();
  EXPECT_THAT(list(), ElementsAre(stopping(spec, run(0))));
  EXPECT_EQ(wait_for_exit(spec), 137);
}

TEST_P(RuntimeConformance, FindsAgainWhatItStartedInAnEarlierLife) {
  const auto spec = script("echo started; trap 'exit 4' TERM; " + kForEver);
  start(spec);
  wait_for_output(spec, "O:ready");
  restart_agent();
  EXPECT_THAT(list(), ElementsAre(found(spec, run(0))));
  EXPECT_EQ(ends().count(), 0U);
  runtime().stop(spec.key, run(0), 60s);
  EXPECT_EQ(wait_for_exit(spec), 4);
  const auto said = output(spec);
  EXPECT_EQ(std::count(said.begin(), said.end(), "O:started"), 1);
}

TEST_P(RuntimeConformance, TellsOnceOfAnEndThatNobodySaw) {
  const auto spec = storing_script(until_go() + "exit 5");
  start(spec);
  close();
  let_go(spec);
  ASSERT_TRUE(
      eventually([&] { return std::filesystem::exists(run_directory(spec) / shim::kExitFile); }));
  restart_agent();
  EXPECT_THAT(list(), Contains(found(spec, run(0))));
  EXPECT_EQ(wait_for_exit(spec), 5);
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(ends().count(), 1U);
}

TEST_P(RuntimeConformance, AnEndIsToldToTheNextLifeTooUntilItIsForgotten) {
  const auto spec = script("exit 6");
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 6);
  restart_agent();
  EXPECT_THAT(list(), ElementsAre(found(spec, run(0))));
  EXPECT_EQ(wait_for_exit(spec), 6);
  EXPECT_TRUE(list().empty());
  runtime().forget(spec.key, run(0));
  restart_agent();
  EXPECT_TRUE(list().empty());
  EXPECT_FALSE(std::filesystem::exists(run_directory(spec)));
}

TEST_P(RuntimeConformance, ANewRunTakesThePlaceOfAnEndedOne) {
  const auto spec = script("exit 0");
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  EXPECT_TRUE(list().empty());
  start(spec, 1);
  EXPECT_EQ(wait_for_exit(spec, 1), 0);
  EXPECT_FALSE(std::filesystem::exists(run_directory(spec)));
}

TEST_P(RuntimeConformance, AKilledSupervisorIsALostRunAndNothingIsLeft) {
  const auto spec = script("sleep 1000 & echo ready; wait");
  start(spec);
  wait_for_output(spec, "O:ready");
  const RunDirectory directory(run_directory(spec));
  const auto program = directory.pid(shim::kPidFile);
  ASSERT_TRUE(program);
  ::kill(directory.pid(shim::kShimFile).value(), SIGKILL);
  const auto end = ends().wait_for(spec.key, run(0));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 137);
  EXPECT_EQ(end->problem.reason, "Lost");
  EXPECT_TRUE(eventually([&] { return !is_running(*program); }));
}

TEST_P(RuntimeConformance, AStartThatFailsIsAProblemNotAnEnd) {
  const auto spec = GetParam().broken();
  const auto started = runtime().start(spec, run(0));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().reason, GetParam().broken_reason);
  EXPECT_THAT(started.error().message, HasSubstr("no such file"));
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(ends().count(), 0U);
  EXPECT_FALSE(std::filesystem::exists(run_directory(spec)));
}

TEST_P(RuntimeConformance, RunsTwoRunsOfOneInstance) {
  const auto spec = script("trap 'exit 8' TERM; " + kForEver);
  start(spec, 0);
  start(spec, 1);
  EXPECT_EQ(list().size(), 2U);
  ASSERT_TRUE(eventually([&] { return output(spec).size() == 2; }));
  runtime().stop(spec.key, run(0), 60s);
  EXPECT_EQ(wait_for_exit(spec, 0), 8);
  EXPECT_THAT(list(), ElementsAre(found(spec, run(1))));
}

TEST_P(RuntimeConformance, KeepsBothStreamsOverTheRunsOfAnInstance) {
  const auto spec = script("echo one; echo two >&2; printf three");
  start(spec, 0);
  EXPECT_EQ(wait_for_exit(spec, 0), 0);
  const char* second = GetParam().is_machine ? "O:two" : "E:two";
  EXPECT_THAT(output(spec), testing::UnorderedElementsAre("O:one", second, "O:three"));
  start(spec, 1);
  EXPECT_EQ(wait_for_exit(spec, 1), 0);
  EXPECT_EQ(output(spec).size(), 6U);
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RuntimeConformance);

}  // namespace berth::runtime
