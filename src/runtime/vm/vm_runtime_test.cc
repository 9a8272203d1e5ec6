#include "runtime/vm/vm_runtime.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "runtime/component/source.h"
#include "runtime/conformance.h"
#include "runtime/files/instance_directories.h"
#include "runtime/files/run_directory.h"
#include "runtime/supervision/command.h"

// With real machines. Where the processor cannot help, each of them takes some seconds to come up.
namespace berth::runtime {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The guest of all tests, made when the first of them asks.
class Guest {
 public:
  Guest() {
    std::string path = (std::filesystem::temp_directory_path() / "berth-guest-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) directory_ = path;
    const auto made =
        run_command({BERTH_SOURCE_DIR "/tools/make_vm_guest.sh", directory_.string()}, 5min);
    if (!made) problem_ = made.error().message;
    if (made && made->code != 0) problem_ = made->output;
  }
  ~Guest() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  const std::filesystem::path& directory() const { return directory_; }
  std::string file(const std::string& name) const { return (directory_ / name).string(); }
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path directory_;
  std::string problem_;
};

const Guest& guest() {
  static const Guest made;
  return made;
}

std::string why_no_vm() {
  for (const char* program : {kEmulator, "busybox"}) {
    if (find_program(program).empty()) return std::string(program) + " is not installed";
  }
  return guest().problem();
}

model::InstanceSpec machine(model::VmImage image) {
  model::InstanceSpec spec;
  spec.key = {model::ItemId{"item"}, model::SubjectId{"subject"}, 0};
  spec.item.id = spec.key.item;
  spec.item.version = "1.0.0";
  spec.item.images.push_back({.form = std::move(image)});
  spec.runtime = model::RuntimeId{"vm"};
  spec.uid = 41'000;
  spec.gid = 41'000;
  return spec;
}

model::VmImage small_guest() {
  return {.kernel = guest().file("vmlinuz"),
          .initrd = guest().file("initrd"),
          .disk = "",
          .cmdline = "quiet loglevel=0"};
}

model::InstanceSpec vm_script(const std::string& text) {
  auto spec = machine(small_guest());
  spec.item.args = {"-c", text};
  return spec;
}

model::InstanceSpec without_kernel() {
  auto image = small_guest();
  image.kernel = guest().file("no such file");
  return machine(image);
}

INSTANTIATE_TEST_SUITE_P(Vm, RuntimeConformance,
                         testing::Values(RuntimeUnderTest{.type = model::RuntimeType::Vm,
                                                          .why_not = why_no_vm,
                                                          .script = vm_script,
                                                          .broken = without_kernel,
                                                          .broken_reason = "ImageNotFound",
                                                          .is_machine = true}),
                         testing::PrintToStringParamName());

class VmRuntimeTest : public RuntimeTest {
 protected:
  void SetUp() override {
    const std::string why = why_no_vm();
    if (!why.empty()) GTEST_SKIP() << why;
    open(model::RuntimeType::Vm);
  }

  model::Problem problem_of(const model::InstanceSpec& spec) {
    const auto started = runtime().start(spec, run(0));
    EXPECT_FALSE(started);
    return started ? model::Problem{} : started.error();
  }

  model::Problem end_of(const model::InstanceSpec& spec) {
    start(spec);
    const auto end = ends().wait_for(spec.key, run(0));
    EXPECT_TRUE(end);
    return end ? end->problem : model::Problem{};
  }
};

TEST_F(VmRuntimeTest, APanicOfTheKernelIsAFailureWithAReason) {
  EXPECT_EQ(end_of(vm_script("echo c > /proc/sysrq-trigger; sleep 1000")).reason, "GuestPanicked");
}

TEST_F(VmRuntimeTest, AGuestThatRestartsItselfHasEnded) {
  EXPECT_EQ(end_of(vm_script("reboot -f")).reason, "GuestReset");
}

TEST_F(VmRuntimeTest, WhatTheEmulatorRefusesIsToldInItsWords) {
  auto image = small_guest();
  image.kernel = guest().file("rubbish");
  std::ofstream(image.kernel) << std::string(64 << 10, 'x');
  const auto problem = problem_of(machine(image));
  EXPECT_EQ(problem.reason, "StartFailed");
  EXPECT_THAT(problem.message, HasSubstr("kernel"));
}

TEST_F(VmRuntimeTest, AnImageMustBeWhatItsDigestSays) {
  auto image = small_guest();
  image.initrd += "@sha256:" + std::string(64, '0');
  EXPECT_EQ(problem_of(machine(image)).reason, "VerificationFailed");
}

TEST_F(VmRuntimeTest, AnImageNeedsSomethingToBoot) {
  EXPECT_EQ(problem_of(machine({})).reason, "ImageInvalid");
  EXPECT_EQ(problem_of(machine({.kernel = "", .initrd = "i", .disk = "d", .cmdline = ""})).reason,
            "ImageInvalid");
}

TEST_F(VmRuntimeTest, AHealthCheckThatCannotBeDoneIsRefused) {
  auto spec = vm_script("exit 0");
  spec.item.health = model::HealthCheck{model::ExecCheck{{"/bin/true"}}};
  EXPECT_EQ(problem_of(spec).reason, "HealthCheckInvalid");
  EXPECT_THAT(problem_of(spec).message, HasSubstr("tcp"));
  spec.item.health = model::HealthCheck{model::TcpCheck{80}};
  EXPECT_THAT(problem_of(spec).message, HasSubstr("network"));
}

TEST_F(VmRuntimeTest, TheEmulatorIsHeldToTheQuotas) {
  if (!is_root()) GTEST_SKIP() << "only root can limit others";
  auto spec = vm_script("while :; do :; done");
  spec.item.quotas.cpu = Dmips(5'000);
  spec.item.quotas.ram = Bytes(96 << 20);
  start(spec);
  const auto launch = RunDirectory(run_directory(spec)).launch();
  ASSERT_TRUE(launch);
  EXPECT_THAT(launch->argv, Contains("96M"));
  ASSERT_FALSE(launch->cgroup_files.empty());
  const auto program = RunDirectory(run_directory(spec)).pid(shim::kPidFile);
  for (const std::string& file : launch->cgroup_files) {
    std::ifstream members(file);
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(members), {}),
                HasSubstr(std::to_string(program.value())));
  }
  runtime().stop(spec.key, run(0), 0s);
  EXPECT_EQ(wait_for_exit(spec), 137);
  for (const std::string& file : launch->cgroup_files) EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(VmRuntimeTest, LimitsCanBeSkipped) {
  auto spec = vm_script("while :; do :; done");
  spec.item.quotas.cpu = Dmips(5'000);
  spec.item.skip_resource_limits = true;
  start(spec);
  EXPECT_TRUE(RunDirectory(run_directory(spec)).launch()->cgroup_files.empty());
}

class VmDiskTest : public VmRuntimeTest {
 protected:
  void SetUp() override {
    VmRuntimeTest::SetUp();
    if (!IsSkipped() && find_program("qemu-img").empty()) {
      GTEST_SKIP() << "qemu-img is not installed";
    }
  }

  // A disk of 1 MiB that begins with this.
  std::string disk(const std::string& content) {
    const auto path = config_.state_dir / "disk, with a comma.img";
    std::ofstream(path) << content << std::string((1 << 20) - content.size(), '\0');
    return path.string();
  }
};

// A boot sector: writes a text to the serial port, then switches off.
std::string boot_sector() {
  const unsigned char code[] = {
      0x31, 0xc0, 0x8e, 0xd8,              // ds = 0
      0xba, 0xf8, 0x03, 0xbe, 0x1c, 0x7c,  // dx = serial port, si = the text
      0xac, 0x84, 0xc0, 0x74, 0x03,        // al = *si++; the end?
      0xee, 0xeb, 0xf8,                    // write it, go on
      0xba, 0x04, 0x06, 0xb8, 0x00, 0x20, 0xef, 0xf4, 0xeb, 0xfd};  // power off
  std::string sector(reinterpret_cast<const char*>(code), sizeof code);
  sector += "booted\n";
  sector.resize(512);
  sector[510] = '\x55';
  sector[511] = '\xaa';
  return sector;
}

TEST_F(VmDiskTest, APlainDiskIsBooted) {
  const auto spec =
      machine({.kernel = "", .initrd = "", .disk = disk(boot_sector()), .cmdline = ""});
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  EXPECT_THAT(output(spec), Contains("O:booted"));
}

TEST_F(VmDiskTest, TheImageIsNeverWrittenAndWhatTheGuestWroteIsKept) {
  auto image = small_guest();
  image.disk = disk("as it was");
  auto spec = machine(image);
  spec.item.args = {"-c", "head -c 9 /dev/vda; echo; echo 'something' > /dev/vda; sync"};
  start(spec, 0);
  EXPECT_EQ(wait_for_exit(spec, 0), 0);
  start(spec, 1);
  EXPECT_EQ(wait_for_exit(spec, 1), 0);
  EXPECT_THAT(output(spec), ElementsAre("O:as it was", "O:something"));
  std::ifstream base(image.disk);
  std::string content(9, ' ');
  base.read(content.data(), 9);
  EXPECT_EQ(content, "as it was");
}

TEST(Machine, HasOnlyWhatIsAskedFor) {
  const Machine small{.name = "a,b", .kernel = "/k", .initrd = "/i", .cmdline = "quiet"};
  const auto arguments = to_arguments(small);
  EXPECT_THAT(arguments, AllOf(Contains("microvm,acpi=on"), Contains("a,,b"), Contains("128M"),
                               Contains("console=ttyS0 panic=-1 reboot=t quiet"),
                               Contains("user,id=network"), Not(Contains("-drive"))));
  const Machine with_disk{.is_accelerated = true, .disks = {{.serial = "disk", .file = {"/d"}}}};
  EXPECT_THAT(to_arguments(with_disk), AllOf(Contains("q35"), Contains("kvm"), Contains("-drive"),
                                             Not(Contains("-kernel"))));
}

TEST(Machine, IsReachedAtPortsOfItsHostWhereItHasNoNetwork) {
  const Machine machine{.name = "a",
                        .kernel = "/k",
                        .cmdline = "quiet",
                        .ports = {41000},
                        .ip = ip_without_network("a")};
  EXPECT_THAT(to_arguments(machine),
              AllOf(Contains("user,id=network,hostfwd=tcp:127.0.0.1:41000-:41000,"
                             "hostfwd=udp:127.0.0.1:41000-:41000"),
                    Contains("console=ttyS0 panic=-1 reboot=t "
                             "ip=10.0.2.15::10.0.2.2:255.255.255.0:a:eth0:off:10.0.2.3 quiet")));
}

TEST(Machine, ProcessorsAndMemoryFollowTheQuotas) {
  model::Item item;
  EXPECT_EQ(ram_mib_of(item), 128);
  EXPECT_EQ(processors_of(item, 10'000), 1);
  item.quotas.ram = Bytes(300 << 20);
  item.quotas.cpu = Dmips(10'001);
  EXPECT_EQ(ram_mib_of(item), 300);
  EXPECT_EQ(processors_of(item, 10'000), 2);
}

}  // namespace
}  // namespace berth::runtime
