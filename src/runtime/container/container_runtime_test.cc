#include "runtime/container/container_runtime.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "runtime/command.h"
#include "runtime/conformance.h"
#include "runtime/container/bundle.h"
#include "runtime/container/cgroup.h"
#include "runtime/instance_directories.h"
#include "runtime/shim/launch.h"

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

std::string why_not() {
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

model::InstanceSpec script(const std::string& text) {
  auto spec = image(images().reference("shell"));
  spec.item.args = {"-c", text};
  return spec;
}

INSTANTIATE_TEST_SUITE_P(Container, RuntimeConformance,
                         testing::Values(RuntimeUnderTest{
                             .type = model::RuntimeType::Runc,
                             .why_not = why_not,
                             .script = script,
                             .broken = [] { return image(images().reference("nothing")); }}),
                         testing::PrintToStringParamName());

class ContainerRuntimeTest : public RuntimeTest {
 protected:
  void SetUp() override {
    const std::string why = why_not();
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
  auto spec = script(before + "exec tail /dev/zero");
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
  const auto spec = script(
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
  const auto spec = script("exit 0");
  start(spec, 0);
  wait_for_exit(spec, 0);
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config_.state_dir / "images")) {
    if (entry.path().filename().string().starts_with("sha256-")) ++count;
  }
  EXPECT_EQ(count, 1U);
  const auto when = std::filesystem::last_write_time(config_.state_dir / "images");
  start(spec, 1);
  wait_for_exit(spec, 1);
  EXPECT_EQ(std::filesystem::last_write_time(config_.state_dir / "images"), when);
}

TEST_F(ContainerRuntimeTest, SaysWhatIsWrongWithAnImage) {
  EXPECT_EQ(problem_of("/nowhere:1").reason, "ImageNotFound");
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

TEST_F(ContainerRuntimeTest, LeavesNoCgroupBehind) {
  const auto spec = script("exit 0");
  start(spec);
  wait_for_exit(spec);
  EXPECT_FALSE(consumption_of("/berth/" + config_.agent_id + "/item+subject+0.1-7-0"));
  close();
  EXPECT_FALSE(consumption_of("/berth/" + config_.agent_id));
}

TEST_F(ContainerRuntimeTest, ARuntimeThatCannotMakeContainersIsNotReadyAndSaysWhy) {
  if (find_program("crun").empty()) GTEST_SKIP() << "crun is not installed";
  if (!std::filesystem::exists("/sys/fs/cgroup/unified")) GTEST_SKIP() << "crun works here";
  open(model::RuntimeType::Crun);
  const model::Runtime probed = runtime().probe();
  EXPECT_EQ(probed.ready, model::Readiness::NotReady);
  EXPECT_THAT(probed.message, HasSubstr("hybrid"));
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

TEST_F(ContainerRuntimeTest, AProbeThatFailsAgainAndAgainWritesNothing) {
  const auto programs = config_.state_dir / "bin";
  std::filesystem::create_directories(programs);
  std::ofstream(programs / "crun") << "#!/bin/sh\necho out of order >&2\nexit 1\n";
  std::filesystem::permissions(programs / "crun", std::filesystem::perms::owner_all);
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (programs.string() + ":" + path).c_str(), 1);
  open(model::RuntimeType::Crun);
  EXPECT_THAT(runtime().probe().message, HasSubstr("out of order"));
  const std::string written = bytes_written_to_disks();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(runtime().probe().message, HasSubstr("out of order"));
  }
  EXPECT_EQ(bytes_written_to_disks(), written);
  ::setenv("PATH", path.c_str(), 1);
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
