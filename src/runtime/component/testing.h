#pragma once

#include "runtime/component/component_runtime.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "runtime/component/slot_file.h"
#include "runtime/conformance.h"
#include "runtime/shim/files.h"
#include "runtime/supervision/command.h"

// What every runtime of components promises, and what is special about some of them.

namespace berth::runtime {

using model::RuntimeType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

inline void run_program(const std::vector<std::string>& argv) {
  const auto outcome = run_command(argv, kPatience);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->code, 0) << outcome->output;
}

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << content;
}

inline std::vector<std::string> shell(std::vector<std::string> script_and_arguments) {
  std::vector<std::string> argv{"/bin/sh", "-c"};
  argv.insert(argv.end(), script_and_arguments.begin(), script_and_arguments.begin() + 1);
  argv.emplace_back("sh");
  argv.insert(argv.end(), script_and_arguments.begin() + 1, script_and_arguments.end());
  return argv;
}

inline std::string name_of_type(const testing::TestParamInfo<RuntimeType>& tested) {
  return std::string(model::to_string(tested.param));
}

// A machine with one runtime of components. Every version says what it is when it is active.
class ComponentTest : public RuntimeTest {
 protected:
  ComponentTest() {
    config_.image_dir = config_.state_dir / "images";
    std::filesystem::create_directories(config_.image_dir);
  }

  void open_component(RuntimeType type) {
    type_ = type;
    open(type);
    list();  // as an agent does before anything else
  }
  void restart_agent() { open_component(type_); }

  std::filesystem::path directory() const {
    return config_.state_dir / "components" / model::to_string(type_);
  }
  std::filesystem::path image(const std::string& version) const {
    return config_.image_dir / ("os-" + version);
  }

  // What the machine uses now; "": nothing.
  std::string active() const {
    switch (type_) {
      case RuntimeType::Rootfs: return content_of(directory() / "active" / "etc" / "version");
      case RuntimeType::Boot: return content_of(directory() / "active");
      default: return content_of(config_.state_dir / "running");
    }
  }

  model::InstanceSpec version(const std::string& version) {
    model::InstanceSpec spec;
    spec.key = {model::ItemId{"os"}, model::SubjectId{"vehicle"}, 0};
    spec.item.id = spec.key.item;
    spec.item.type = model::ItemType::Component;
    spec.item.version = version;
    spec.item.images.push_back({.form = form_of(version)});
    spec.runtime = model::RuntimeId{model::to_string(type_)};
    return spec;
  }

  model::ImageForm form_of(const std::string& version) {
    switch (type_) {
      case RuntimeType::Rootfs:
        // Once: an archive has times in it, and one that was made again is another image.
        if (!std::filesystem::exists(image(version))) make_archive(version);
        return model::RootfsImage{"os-" + version};
      case RuntimeType::Boot:
        write(image(version), version);
        return model::BootImage{"os-" + version};
      default: return firmware(version);
    }
  }

  void make_archive(const std::string& version, const std::string& compression = "--gzip") {
    const auto tree = config_.state_dir / "tree";
    write(tree / "etc" / "version", version);
    run_program({"tar", "--create", compression, "--file", image(version).string(), "--directory",
                 tree.string(), "."});
  }

  model::FirmwareImage firmware(const std::string& version) const {
    const std::string place = config_.state_dir.string();
    return {.install = shell({"printf %s \"$1\" > \"$2/staged\"", version, place}),
            .activate = shell({"cd \"$1\" && { [ ! -e running ] || cp running before; } && "
                               "mv staged running",
                               place}),
            .revert = shell({"cd \"$1\" && if [ -e before ]; then mv before running; fi", place})};
  }

  model::Problem start_fails(const model::InstanceSpec& spec, std::uint32_t attempt = 0) {
    const auto started = runtime().start(spec, run(attempt));
    EXPECT_FALSE(started);
    return started ? model::Problem{} : started.error();
  }

  // As the core of the agent does it.
  void stop(const model::InstanceSpec& spec, std::uint32_t attempt = 0) {
    runtime().stop(spec.key, run(attempt), 1s);
    EXPECT_TRUE(ends().wait_for(spec.key, run(attempt)));
  }

  void confirm_by(std::vector<std::string> program, Duration timeout = kPatience) {
    config_.components.confirm = std::move(program);
    config_.components.confirm_timeout = timeout;
    restart_agent();
  }

  model::FoundRun found(const model::InstanceSpec& spec, std::uint32_t attempt = 0) {
    return {spec.key, run(attempt), model::ItemType::Component, spec.item.version, false, spec};
  }

  RuntimeType type_ = RuntimeType::Rootfs;
};

}  // namespace berth::runtime
