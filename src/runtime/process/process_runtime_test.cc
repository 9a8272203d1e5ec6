#include "runtime/process/process_runtime.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <iterator>

#include "runtime/conformance.h"
#include "runtime/container/cgroup.h"
#include "runtime/files/run_directory.h"
#include "runtime/process/process_table.h"

namespace berth::runtime {
namespace {

using testing::ElementsAre;

model::InstanceSpec command(std::vector<std::string> argv) {
  model::InstanceSpec spec;
  spec.key = {model::ItemId{"item"}, model::SubjectId{"subject"}, 0};
  spec.item.id = spec.key.item;
  spec.item.version = "1.0.0";
  spec.item.images.push_back({.form = model::CommandImage{std::move(argv)}});
  spec.runtime = model::RuntimeId{"process"};
  spec.uid = ::geteuid();
  spec.gid = ::getegid();
  return spec;
}

model::InstanceSpec process_script(const std::string& text) {
  return command({"/bin/busybox", "sh", "-c", text});
}

std::string why_no_process() {
  return std::filesystem::exists("/bin/busybox") ? "" : "there is no /bin/busybox";
}

INSTANTIATE_TEST_SUITE_P(Process, RuntimeConformance,
                         testing::Values(RuntimeUnderTest{
                             .type = model::RuntimeType::Process,
                             .why_not = why_no_process,
                             .script = process_script,
                             .broken = [] { return command({"/bin/no such file"}); }}),
                         testing::PrintToStringParamName());

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ProcessRuntimeTest : public RuntimeTest {
 protected:
  ProcessRuntimeTest() { open(model::RuntimeType::Process); }
};

TEST_F(ProcessRuntimeTest, AppendsTheArgumentsOfTheItem) {
  auto spec = command({"/bin/busybox", "echo", "one"});
  spec.item.args = {"two  three", ""};
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  EXPECT_THAT(output(spec), ElementsAre("O:one two  three "));
}

TEST_F(ProcessRuntimeTest, RunsInItsStorageAndFindsProgramsInItsPath) {
  const auto spec = command({"busybox", "pwd"});
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  EXPECT_THAT(
      output(spec),
      ElementsAre("O:" + (config_.state_dir / "storage" / file_name_of(spec.key)).string()));
}

TEST_F(ProcessRuntimeTest, EndsWhatTheProgramLeftBehindWhereverItWent) {
  const auto spec = process_script("setsid sleep 1000 & echo $!; setsid sleep 1000 & echo $!");
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  for (const std::string& line : output(spec)) {
    EXPECT_TRUE(eventually([&] { return ::kill(std::stoi(line.substr(2)), 0) != 0; })) << line;
  }
}

TEST_F(ProcessRuntimeTest, LimitsItsMemoryAndCoreDumps) {
  auto spec = process_script("ulimit -d; ulimit -c");
  spec.item.quotas.ram = Bytes(64 << 20);
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  EXPECT_THAT(output(spec), ElementsAre("O:65536", "O:0"));
}

TEST_F(ProcessRuntimeTest, IsHeldToItsShareOfTheProcessorWhereThatCanBe) {
  const std::string why_no_process = why_no_cpu_limits(config_.tag);
  if (!why_no_process.empty()) GTEST_SKIP() << why_no_process;
  close();
  config_.has_cpu_limits = true;
  open(model::RuntimeType::Process);
  auto spec = process_script("echo $$; exec sleep 1000");
  spec.item.quotas.cpu = Dmips(config_.dmips_per_core / 2);
  start(spec);
  const auto launch = RunDirectory(run_directory(spec)).launch();
  ASSERT_TRUE(launch);
  ASSERT_EQ(launch->cgroup_files.size(), 1U);
  const auto group = std::filesystem::path(launch->cgroup_files[0]).parent_path();
  const auto program = RunDirectory(run_directory(spec)).pid(shim::kPidFile);
  EXPECT_EQ(text_of(group / "cgroup.procs"), std::to_string(program.value()) + "\n");
  const bool is_v2 = std::filesystem::exists(group / "cpu.max");
  EXPECT_EQ(text_of(group / (is_v2 ? "cpu.max" : "cpu.cfs_quota_us")),
            is_v2 ? "50000 100000\n" : "50000\n");
  runtime().stop(spec.key, run(0), 0s);
  EXPECT_EQ(wait_for_exit(spec), 128 + SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(group));
}

TEST_F(ProcessRuntimeTest, RunsWithoutAQuotaOfTheProcessorWhereThatCannotBeHeld) {
  auto spec = process_script("exit 0");
  spec.item.quotas.cpu = Dmips(100);
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
}

TEST_F(ProcessRuntimeTest, AnImageThatIsNoCommandIsAProblem) {
  auto spec = command({"x"});
  spec.item.images[0].form = model::OciImage{"x:y"};
  const auto started = runtime().start(spec, run(0));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().reason, "ImageInvalid");
}

TEST_F(ProcessRuntimeTest, WithoutTheShimItIsNotReady) {
  close();
  config_.shim = "/nowhere/berth-shim";
  open(model::RuntimeType::Process);
  const ProbeResult probed = runtime().probe(kPatience);
  EXPECT_EQ(probed.readiness(), model::Readiness::NotReady);
  EXPECT_EQ(probed.reason, "ComputeNotReady");
  EXPECT_THAT(probed.message, testing::HasSubstr("/nowhere/berth-shim"));
  EXPECT_FALSE(runtime().start(process_script("exit 0"), run(0)));
}

TEST_F(ProcessRuntimeTest, TheShimIsSmall) {
  const auto spec = process_script("echo ready; sleep 1000");
  start(spec);
  wait_for_output(spec, "O:ready");
  const auto shim = RunDirectory(run_directory(spec)).pid(shim::kShimFile);
  for (const ProcessFigures& process : read_processes()) {
    if (process.pid != shim) continue;
    EXPECT_LT(process.resident, Bytes(2 << 20));
  }
}

TEST(ProcessTable, ReadsWhateverAProcessIsCalled) {
  const auto figures = parse_stat(
      "42 (a) R (b\n) S 7 42 42 0 -1 4194304 100 0 0 0 30 20 10 5 20 0 1 0 100 1000 3 "
      "18446744073709551615\n");
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->pid, 42);
  EXPECT_EQ(figures->parent, 7);
  EXPECT_EQ(figures->own_time, std::chrono::milliseconds(500));
  EXPECT_EQ(figures->children_time, std::chrono::milliseconds(150));
  EXPECT_FALSE(parse_stat("42 (x) S 1"));
  EXPECT_FALSE(parse_stat(""));
}

TEST(ProcessTable, SumsUpAllThatIsBelowAProcess) {
  const std::chrono::milliseconds ms(1);
  const std::vector<ProcessFigures> processes{{10, 1, 100 * ms, 3 * ms, Bytes(1000)},
                                              {11, 10, 10 * ms, 2 * ms, Bytes(10)},
                                              {12, 11, 20 * ms, 0 * ms, Bytes(20)},
                                              {13, 1, 50 * ms, 0 * ms, Bytes(50)}};
  const auto sums = consumption_below(processes, {10});
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums.at(10).cpu_time, 35 * ms);
  EXPECT_EQ(sums.at(10).ram, Bytes(30));
}

}  // namespace
}  // namespace berth::runtime
