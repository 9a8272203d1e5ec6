#include "runtime/vm/vm_runtime.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "runtime/command.h"
#include "runtime/component/source.h"
#include "runtime/conformance.h"
#include "runtime/instance_directories.h"
#include "runtime/run_directory.h"

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

std::string why_not() {
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

model::InstanceSpec script(const std::string& text) {
  auto spec = machine(small_guest());
  spec.item.args = {"-c", text};
  return spec;
}

// The emulator itself finds the flaw.
model::InstanceSpec broken() {
  auto image = small_guest();
  image.kernel = guest().file("no such file");
  std::ofstream(image.kernel) << "this is no kernel";
  return machine(image);
}

INSTANTIATE_TEST_SUITE_P(Vm, RuntimeConformance,
                         testing::Values(RuntimeUnderTest{.type = model::RuntimeType::Vm,
                                                          .why_not = why_not,
                                                          .script = script,
                                                          .broken = broken,
                                                          .is_machine = true}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace berth::runtime
