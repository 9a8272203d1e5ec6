#include "runtime/container/container_runtime.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>
#include <utility>

#include "runtime/clock.h"
#include "runtime/conformance.h"
#include "runtime/container/bundle.h"
#include "runtime/container/cgroup.h"
#include "runtime/files/instance_directories.h"
#include "runtime/shim/launch.h"
#include "runtime/supervision/command.h"

namespace berth::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An OCI layout with the images of all tests, made when the first of them asks.
class Images {
 public:
  Images() {
    std::string path = (std::filesystem::temp_directory_path() / "berth-images-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) directory_ = path;
    make("shell", "/bin/busybox sh");
    make("nothing", "/bin/no.such.file");
  }
  ~Images() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  const std::filesystem::path& directory() const { return directory_; }
  std::string reference(const std::string& tag) const {
    return (directory_ / "layout").string() + ":" + tag;
  }
  const std::string& problem() const { return problem_; }

 private:
  void make(const std::string& tag, const std::string& entrypoint) {
    ::setenv("ENTRYPOINT", entrypoint.c_str(), 1);
    const auto made = run_command({BERTH_SOURCE_DIR "/tools/make_image.sh", reference(tag)}, 2min);
    ::unsetenv("ENTRYPOINT");
    if (!made) problem_ = made.error().message;
    if (made && made->code != 0) problem_ = made->output;
  }

  std::filesystem::path directory_;
  std::string problem_;
};

const Images& images() {
  static const Images made;
  return made;
}

std::string why_no_container() {
  if (!is_root()) return "containers need root";
  for (const char* program : {"runc", "umoci", "busybox"}) {
    if (find_program(program).empty()) return std::string(program) + " is not installed";
  }
  return images().problem();
}

model::InstanceSpec image(const std::string& reference) {
  model::InstanceSpec spec;
  spec.key = {model::ItemId{"item"}, model::SubjectId{"subject"}, 0};
  spec.item.id = spec.key.item;
  spec.item.version = "1.0.0";
  spec.item.images.push_back({.form = model::OciImage{reference}});
  spec.runtime = model::RuntimeId{"runc"};
  spec.uid = 41'000;
  spec.gid = 41'000;
  return spec;
}

model::InstanceSpec container_script(const std::string& text) {
  auto spec = image(images().reference("shell"));
  spec.item.args = {"-c", text};
  return spec;
}

INSTANTIATE_TEST_SUITE_P(Container, RuntimeConformance,
                         testing::Values(RuntimeUnderTest{
                             .type = model::RuntimeType::Runc,
                             .why_not = why_no_container,
                             .script = container_script,
                             .broken = [] { return image(images().reference("nothing")); }}),
                         testing::PrintToStringParamName());

class ContainerRuntimeTest : public RuntimeTest {
 protected:
  void SetUp() override {
    const std::string why = why_no_container();
    if (!why.empty()) GTEST_SKIP() << why;
    open(model::RuntimeType::Runc);
  }

  model::Problem problem_of(const std::string& reference) {
    const auto started = runtime().start(image(reference), run(0));
    EXPECT_FALSE(started);
    return started ? model::Problem{} : started.error();
  }

  std::filesystem::path copy_of_layout() {
    const auto copy = config_.state_dir / "copy";
    std::filesystem::copy(images().directory() / "layout", copy,
                          std::filesystem::copy_options::recursive);
    return copy;
  }
};

model::InstanceSpec glutton(const std::string& before) {
  auto spec = container_script(before + "exec tail /dev/zero");
  spec.item.quotas.ram = Bytes(24 << 20);
  return spec;
}

TEST_F(ContainerRuntimeTest, OneOverItsMemoryIsKilledAndThatIsTold) {
  const auto spec = glutton("");
  start(spec);
  const auto end = ends().wait_for(spec.key, run(0));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 137);
  EXPECT_EQ(end->problem.reason, "OutOfMemory");
}

TEST_F(ContainerRuntimeTest, OneOverItsMemoryWhileNobodyWatchedIsToldToo) {
  const auto spec = glutton("while [ ! -e $BERTH_STORAGE/go ]; do sleep 0.05; done; ");
  start(spec);
  close();
  let_go(spec);
  ASSERT_TRUE(
      eventually([&] { return std::filesystem::exists(run_directory(spec) / shim::kExitFile); }));
  open(model::RuntimeType::Runc);
  ASSERT_EQ(list().size(), 1U);
  const auto end = ends().wait_for(spec.key, run(0));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 137);
  EXPECT_EQ(end->problem.reason, "OutOfMemory");
}

TEST_F(ContainerRuntimeTest, AContainerCanDoLittle) {
  const auto spec = container_script(
      "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr '\\t' ' ';"
      "touch /file 2>/dev/null || echo read-only;"
      "mount -t tmpfs x /tmp 2>/dev/null || echo no mounts; hostname; echo $$");
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  EXPECT_THAT(output(spec), ElementsAre("O:CapEff: 0000000000000000", "O:CapBnd: 0000000000000000",
                                        "O:NoNewPrivs: 1", "O:Seccomp: 2", "O:read-only",
                                        "O:no mounts", "O:item-0", "O:1"));
}

TEST_F(ContainerRuntimeTest, UnpacksAnImageOnce) {
  const auto spec = container_script("exit 0");
  start(spec, 0);
  wait_for_exit(spec, 0);
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config_.state_dir / "images")) {
    const bool is_place = entry.path().filename().string().starts_with("sha256-");
    if (is_place && entry.is_directory()) ++count;
  }
  EXPECT_EQ(count, 1U);
  const auto when = std::filesystem::last_write_time(config_.state_dir / "images");
  start(spec, 1);
  wait_for_exit(spec, 1);
  EXPECT_EQ(std::filesystem::last_write_time(config_.state_dir / "images"), when);
}

TEST_F(ContainerRuntimeTest, SaysWhatIsWrongWithAnImage) {
  EXPECT_EQ(problem_of("nowhere:1").reason, "ImageNotFound");
  EXPECT_EQ(problem_of("/nowhere:1").reason, "ImageInvalid") << "it leads out of where images are";
  EXPECT_EQ(problem_of(images().reference("other")).reason, "ImageNotFound");
  EXPECT_EQ(
      problem_of((images().directory() / "layout").string() + "@sha256:" + std::string(64, '0'))
          .reason,
      "ImageNotFound");
  EXPECT_EQ(problem_of("layout@sha256:../../etc").reason, "ImageInvalid");
  EXPECT_EQ(problem_of("").reason, "ImageInvalid");
  EXPECT_EQ(problem_of("docker://127.0.0.1:1/none:1").reason, "ImagePullFailed");
  EXPECT_TRUE(list().empty());
}

TEST_F(ContainerRuntimeTest, BytesThatAreNotWhatTheirDigestSaysAreNotRun) {
  const auto layout = copy_of_layout();
  for (const auto& entry : std::filesystem::directory_iterator(layout / "blobs" / "sha256")) {
    if (entry.file_size() < 100'000) continue;
    std::fstream blob(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    blob.seekp(50'000);
    blob.write("changed", 7);
  }
  EXPECT_EQ(problem_of(layout.string() + ":shell").reason, "ImageInvalid");
}

TEST_F(ContainerRuntimeTest, ADamagedIndexIsAProblem) {
  const auto layout = copy_of_layout();
  std::ofstream(layout / "index.json") << "{";
  EXPECT_EQ(problem_of(layout.string() + ":shell").reason, "ImageInvalid");
}

TEST_F(ContainerRuntimeTest, LayoutsMayBeNamedFromWhereImagesAre) {
  close();
  config_.image_dir = images().directory();
  open(model::RuntimeType::Runc);
  auto spec = image("layout:shell");
  spec.item.args = {"-c", "exit 11"};
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 11);
}

TEST_F(ContainerRuntimeTest, WhatAnEarlierReleaseHasStartedIsMeasuredWhereItIs) {
  const std::string tag = std::exchange(config_.tag, config_.agent_id);  // its groups had that name
  open(model::RuntimeType::Runc);
  const auto spec = container_script("exec sleep 1000");
  start(spec);
  const RunDirectory directory(run_directory(spec));
  RunRecord record = directory.record().value();
  record.tag.clear();
  ASSERT_TRUE(directory.write("run", encode(record)));
  config_.tag = tag;
  open(model::RuntimeType::Runc);
  EXPECT_EQ(list().size(), 1U);
  EXPECT_TRUE(cpu_time(spec));
  runtime().stop(spec.key, run(0), 0s);
  wait_for_exit(spec);
  close();
  EXPECT_FALSE(consumption_of("/berth/" + config_.agent_id)) << "it is tidied";
}

TEST_F(ContainerRuntimeTest, LeavesNoCgroupBehind) {
  const auto spec = container_script("exit 0");
  start(spec);
  wait_for_exit(spec);
  EXPECT_FALSE(consumption_of("/berth/" + config_.tag + "/item+subject+0.1-7-0"));
  close();
  EXPECT_FALSE(consumption_of("/berth/" + config_.tag));
}

TEST_F(ContainerRuntimeTest, ARuntimeThatCannotMakeContainersIsNotReadyAndSaysWhy) {
  if (find_program("crun").empty()) GTEST_SKIP() << "crun is not installed";
  if (!std::filesystem::exists("/sys/fs/cgroup/unified")) GTEST_SKIP() << "crun works here";
  open(model::RuntimeType::Crun);
  const ProbeResult probed = runtime().probe(kPatience);
  EXPECT_EQ(probed.readiness(), model::Readiness::NotReady);
  EXPECT_EQ(probed.reason, "ComputeNotReady");
  EXPECT_THAT(probed.message, HasSubstr("hybrid"));
}

// A program in the place of runc, which can be replaced as a whole.
class ReplacedProgram : public ContainerRuntimeTest {
 protected:
  void SetUp() override {
    ContainerRuntimeTest::SetUp();
    if (IsSkipped()) return;
    program_ = config_.state_dir / "bin" / "runc";
    std::filesystem::create_directories(program_.parent_path());
    put("exec " + find_program("runc") + " \"$@\"");
    open({model::RuntimeId{"own"}, model::RuntimeType::Runc, program_.string()});
  }

  void put(const std::string& text) const {
    const std::filesystem::path fresh = program_.string() + ".new";
    std::ofstream(fresh) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(fresh, std::filesystem::perms::owner_all);
    std::filesystem::rename(fresh, program_);
  }

  // Those that the program knows of.
  std::vector<std::string> containers() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(config_.state_dir / "oci" / "own", error)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  // Each line is a call of the program.
  std::size_t calls() const {
    std::ifstream lines(config_.state_dir / "calls");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(lines), {}, '\n'));
  }
  std::string note_call() const {
    return "echo x >> " + (config_.state_dir / "calls").string() + "\n";
  }

  std::filesystem::path program_;
};

TEST_F(ReplacedProgram, AStartWhoseShimIsKilledLeavesNoContainer) {
  const std::string runc = find_program("runc") + " \"$@\"";
  put("case \"$*\" in *\" create \"*) " + runc + "; kill -9 $PPID; exit;; esac\nexec " + runc);
  const auto started = runtime().start(container_script("exec sleep 1000"), run(0));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "the supervisor did not answer");
  EXPECT_TRUE(containers().empty());
  EXPECT_TRUE(list().empty());
}

TEST_F(ReplacedProgram, AStartThatHangsSaysWhatItWaitsForAndIsEndedByAStop) {
  const std::string runc = find_program("runc") + " \"$@\"";
  put("case \"$*\" in *\" create \"*) exec sleep 1000;; esac\nexec " + runc);
  const auto spec = container_script("exec sleep 1000");
  auto starting = std::async(std::launch::async, [&] { return runtime().start(spec, run(0)); });
  const auto remark = ends().wait_for_remark("StartSlow");
  ASSERT_TRUE(remark);
  EXPECT_EQ(remark->message, "runc create has not answered for 2s");
  const Time before = now();
  runtime().stop(spec.key, run(0), 1h);
  EXPECT_TRUE(ends().wait_for(spec.key, run(0)));
  EXPECT_FALSE(starting.get());
  EXPECT_LT(now() - before, 30s) << "not as long as the program would have been waited for";
  EXPECT_TRUE(containers().empty());
}

TEST_F(ReplacedProgram, AContainerThatBelongsToNoRunIsTakenAwayByTheNextLifeOfTheAgent) {
  const auto spec = container_script("exec sleep 1000");
  EXPECT_TRUE(list().empty());
  start(spec);
  const auto launch = shim::decode_launch([&] {
    std::ifstream file(run_directory(spec) / shim::kLaunchFile);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }());
  ASSERT_TRUE(launch);
  const std::string bundle = config_.state_dir / "stray";
  std::filesystem::create_directories(bundle);
  std::filesystem::copy(run_directory(spec) / "config.json", bundle);
  const auto made =
      run_command({"/bin/sh", "-c",
                   launch->oci_runtime + " --root " + launch->oci_root + " create --bundle " +
                       bundle + " stray </dev/null >/dev/null 2>&1"},
                  kPatience);
  ASSERT_TRUE(made && made->code == 0);
  EXPECT_EQ(containers().size(), 2U);
  EXPECT_EQ(list().size(), 1U);
  EXPECT_EQ(containers().size(), 2U) << "only once in a life, when nothing of ours is made yet";
  open({model::RuntimeId{"own"}, model::RuntimeType::Runc, program_.string()});
  EXPECT_EQ(list().size(), 1U);
  EXPECT_EQ(containers(), std::vector<std::string>{launch->container});
  runtime().stop(spec.key, run(0), 0s);
  wait_for_exit(spec);
}

TEST_F(ReplacedProgram, IsTriedOnceAndThenOnlyLookedAt) {
  put(note_call() + "exec " + find_program("runc") + " \"$@\"");
  for (int i = 0; i < 5; ++i) {
    const ProbeResult probed = runtime().probe(kPatience);
    EXPECT_EQ(probed, ProbeResult{}) << probed.message;
  }
  EXPECT_EQ(calls(), 2U) << "create and delete";
}

TEST_F(ReplacedProgram, OneThatFailsIsNotReadyWithItsOwnWordsAndOneThatWorksAgainIsReadyAtOnce) {
  ASSERT_EQ(runtime().probe(kPatience), ProbeResult{});
  put("echo out of order >&2; exit 1");
  const ProbeResult broken = runtime().probe(kPatience);
  EXPECT_EQ(broken.readiness(), model::Readiness::NotReady);
  EXPECT_EQ(broken.reason, "ComputeNotReady");
  EXPECT_EQ(broken.message, "out of order");
  put("exec " + find_program("runc") + " \"$@\"");
  EXPECT_EQ(runtime().probe(kPatience), ProbeResult{});
}

TEST_F(ReplacedProgram, OneThatSaysNothingAndOneThatIsNoProgramAreNotReady) {
  put("exit 3");
  EXPECT_EQ(runtime().probe(kPatience).message, program_.string() + " ended with 3");
  std::filesystem::permissions(program_, std::filesystem::perms::owner_read);
  EXPECT_EQ(runtime().probe(kPatience).message, program_.string() + " is not installed");
  std::filesystem::remove(program_);
  EXPECT_EQ(runtime().probe(kPatience).reason, "ComputeNotReady");
}

// It hangs in a child of its own, which holds the pipe open, and nobody heeds a polite signal.
TEST_F(ReplacedProgram, OneThatHangsIsKilledAtTheDeadlineWithAllItHasStarted) {
  const std::filesystem::path pids = config_.state_dir / "pids";
  put("trap '' TERM INT HUP\necho $$ >> " + pids.string() +
      "\n(trap '' TERM; echo $(sh -c 'echo $PPID') >> " + pids.string() +
      "; while :; do sleep 1000; done) &\nwait; wait");
  const auto begun = std::chrono::steady_clock::now();
  const ProbeResult probed = runtime().probe(500ms);
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(probed, probe_timed_out(500ms)) << probed.message;
  EXPECT_EQ(probed.readiness(), model::Readiness::Unknown);
  EXPECT_GE(took, 500ms);
  EXPECT_LT(took, 10s) << "far less than anything of it would have taken";
  std::ifstream lines(pids);
  std::vector<pid_t> started{std::istream_iterator<pid_t>(lines), {}};
  EXPECT_EQ(started.size(), 2U);
  for (const pid_t pid : started) {
    EXPECT_TRUE(eventually([&] { return ::kill(pid, 0) != 0; })) << pid << " lives on";
  }
}

TEST_F(ReplacedProgram, OneThatHangsDoesNotKeepTheAgentFromEnding) {
  const std::filesystem::path begun = config_.state_dir / "begun";
  put("trap '' TERM\ntouch " + begun.string() + "\nsleep 1000");
  ProbeResult probed;
  std::thread probing([&] { probed = runtime().probe(1h); });
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(begun); }));
  runtime().leave();
  probing.join();
  EXPECT_EQ(probed.reason, "ProbeFailed");
}

TEST_F(ReplacedProgram, WhatRunsGoesOnWhileItsRuntimeIsBroken) {
  auto spec = container_script("while [ ! -e $BERTH_STORAGE/go ]; do sleep 0.05; done; exit 12");
  spec.runtime = model::RuntimeId{"own"};
  start(spec);
  put("exit 1");
  EXPECT_EQ(runtime().probe(kPatience).readiness(), model::Readiness::NotReady);
  EXPECT_EQ(list().size(), 1U);
  put("exec " + find_program("runc") + " \"$@\"");
  let_go(spec);
  EXPECT_EQ(wait_for_exit(spec), 12);
}

TEST_F(ReplacedProgram, TwoRuntimesOfOneTypeDoNotSeeEachOthersRuns) {
  auto spec = container_script("exec sleep 1000");
  spec.runtime = model::RuntimeId{"own"};
  start(spec);
  Ends others;
  const auto other =
      make_runtime(config_, {id_of(model::RuntimeType::Runc), model::RuntimeType::Runc}, others);
  EXPECT_EQ(other->probe(kPatience), ProbeResult{});
  EXPECT_TRUE(other->list()->empty());
  EXPECT_EQ(list().size(), 1U);
}

class BrokenNetworks final : public InstanceNetworks {
 public:
  tl::expected<JoinedNetwork, model::Problem> attach(const model::InstanceKey&, const model::RunId&,
                                                     const model::InstanceNetwork&) override {
    return tl::unexpected(model::Problem{"NetworkFailed", why});
  }
  tl::expected<JoinedNetwork, model::Problem> attach_guest(
      const model::InstanceKey& key, const model::RunId& run,
      const model::InstanceNetwork& network) override {
    return attach(key, run, network);
  }
  void release(const model::InstanceKey&, const model::RunId&) override {}
  std::string why_not_ready() override { return why; }

  std::string why = "the bridge is gone";
};

TEST_F(ReplacedProgram, WithoutItsNetworkItIsNotReady) {
  BrokenNetworks networks;
  close();
  config_.networks = &networks;
  open({model::RuntimeId{"own"}, model::RuntimeType::Runc, program_.string()});
  const ProbeResult probed = runtime().probe(kPatience);
  EXPECT_EQ(probed.readiness(), model::Readiness::NotReady);
  EXPECT_EQ(probed.reason, "NetworkNotReady");
  EXPECT_EQ(probed.message, "the bridge is gone");
  networks.why.clear();
  EXPECT_EQ(runtime().probe(kPatience), ProbeResult{});
  close();
  config_.networks = nullptr;
  open({model::RuntimeId{"own"}, model::RuntimeType::Runc, program_.string()});
}

// Of this process and those it has waited for.
std::string bytes_written_to_disks() {
  std::ifstream figures("/proc/self/io");
  std::string name, bytes;
  while (figures >> name >> bytes) {
    if (name == "write_bytes:") return bytes;
  }
  return "";
}

// A program that keeps much below its root before it gives up.
TEST_F(ReplacedProgram, AProbeThatFailsAgainAndAgainWritesNothing) {
  put("mkdir -p $2; head -c 300000 /dev/zero > $2/state; echo out of order >&2; exit 1");
  EXPECT_EQ(runtime().probe(kPatience).message, "out of order");
  const std::string written = bytes_written_to_disks();
  for (int i = 0; i < 5; ++i) {
    runtime().reconsider();
    EXPECT_EQ(runtime().probe(kPatience).message, "out of order");
  }
  EXPECT_EQ(bytes_written_to_disks(), written);
  for (const auto& entry : std::filesystem::directory_iterator(config_.state_dir)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("probe")) << entry.path();
  }
}

TEST_F(ReplacedProgram, OneThatFailsIsLeftAloneUntilSomebodyCountsOnIt) {
  put(note_call() + "echo out of order >&2; exit 1");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(runtime().probe(kPatience).message, "out of order");
  EXPECT_EQ(calls(), 1U);
  EXPECT_FALSE(runtime().start(container_script("exit 0"), run(0)));
  const std::size_t tried = calls();
  EXPECT_EQ(runtime().probe(kPatience).message, "out of order");
  EXPECT_EQ(calls(), tried + 1);
}

TEST(Bundle, AQuotaInDmipsIsAShareOfTheCores) {
  model::Item item;
  item.quotas.cpu = Dmips(2'500);
  item.quotas.ram = Bytes(100 << 20);
  EXPECT_EQ(limits_of(item, 10'000).cpu_quota_us, 25'000);
  EXPECT_EQ(limits_of(item, 1'000).cpu_quota_us, 250'000);
  EXPECT_EQ(limits_of(item, 10'000).memory_bytes, 100 << 20);
  item.skip_resource_limits = true;
  EXPECT_FALSE(limits_of(item, 10'000).cpu_quota_us);
  EXPECT_FALSE(limits_of(item, 10'000).memory_bytes);
}

TEST(ImageReference, IsALayoutOrARegistrys) {
  const auto local = parse_image_reference("dir.d/layout:1.2");
  ASSERT_TRUE(local);
  EXPECT_EQ(local->name, "dir.d/layout");
  EXPECT_EQ(local->tag, "1.2");
  EXPECT_EQ(parse_image_reference("a:b/layout")->name, "a:b/layout");
  const std::string digest = "sha256:" + std::string(64, 'a');
  EXPECT_EQ(parse_image_reference("layout:t@" + digest)->digest, digest);
  const auto remote = parse_image_reference("docker://host:5000/name:tag@" + digest);
  ASSERT_TRUE(remote);
  EXPECT_EQ(remote->name, "docker://host:5000/name@" + digest);
  EXPECT_FALSE(parse_image_reference(":tag"));
}

}  // namespace
}  // namespace berth::runtime
