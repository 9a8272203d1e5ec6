#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/runtimes.h"

// What every runtime promises, tried on real instances. To try one more:
//
//   INSTANTIATE_TEST_SUITE_P(My, RuntimeConformance, testing::Values(RuntimeUnderTest{...}));
//
// The tests are in conformance_test.cc; the fixture serves tests of one runtime too.
namespace berth::runtime {

struct RuntimeUnderTest {
  model::RuntimeType type = model::RuntimeType::Process;
  std::string (*why_not)() = nullptr;  // why it cannot be tried here; empty: it can
  // An instance that runs a script of the shell, and one that cannot be started.
  model::InstanceSpec (*script)(const std::string& text) = nullptr;
  model::InstanceSpec (*broken)() = nullptr;
  std::string broken_reason = "StartFailed";
  // A guest that is a machine of its own: nothing can be run beside it, its users are not those of
  // this machine, its console is one stream, its storage is a disk, and it has no state.
  bool is_machine = false;
};

std::ostream& operator<<(std::ostream& out, const RuntimeUnderTest& runtime);

// A listener that remembers.
class Ends : public RunListener {
 public:
  struct End {
    model::InstanceKey key;
    model::RunId run;
    std::int32_t code = 0;
    model::Problem problem;
  };

  void exited(const model::InstanceKey& key, const model::RunId& run, std::int32_t exit_code,
              const model::Problem& problem) override;
  void remarked(const model::InstanceKey& key, const model::RunId& run,
                const model::Problem& remark) override;

  // Waits until this was remarked on some run.
  std::optional<model::Problem> wait_for_remark(const std::string& reason);

  // Waits for it; nullopt: it was not told in a long time.
  std::optional<End> wait_for(const model::InstanceKey& key, const model::RunId& run);
  std::size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<End> ends_;
  std::vector<model::Problem> remarks_;
};

// Long enough for the slowest machine; nobody waits that long when all is well.
inline constexpr std::chrono::seconds kPatience{60};

bool eventually(const std::function<bool()>& condition);

// A machine with one runtime, in a directory of its own.
class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest();
  ~RuntimeTest() override;

  // Opens it, in another life of the agent if it was open before.
  void open(model::RuntimeType type);
  void open(const RuntimeSpec& spec);
  static model::RuntimeId id_of(model::RuntimeType type);
  void close();

  Runtime& runtime() { return *runtime_; }
  Ends& ends() { return *ends_; }

  // The run with this attempt.
  static model::RunId run(std::uint32_t attempt);

  void start(const model::InstanceSpec& spec, std::uint32_t attempt = 0);
  std::int32_t wait_for_exit(const model::InstanceSpec& spec, std::uint32_t attempt = 0);
  std::vector<model::FoundRun> list();

  // All output of the instance so far.
  std::vector<std::string> output(const model::InstanceSpec& spec);
  void wait_for_output(const model::InstanceSpec& spec, const std::string& line);
  std::optional<std::chrono::microseconds> cpu_time(const model::InstanceSpec& spec);

  // Lets an instance go on that waits for the file "go" in its storage; one whose storage is a disk
  // finds the word at its very beginning, where file systems have nothing.
  void let_go(const model::InstanceSpec& spec);
  std::filesystem::path run_directory(const model::InstanceSpec& spec, std::uint32_t attempt = 0);

  struct ExecResult {
    std::string output;
    std::string error;
    std::int32_t code = -1;
  };
  ExecResult exec(const model::InstanceSpec& spec, ExecRequest request,
                  std::string_view input = "");

  MachineConfig config_;

 private:
  model::RuntimeType type_ = model::RuntimeType::Process;
  std::optional<RuntimeSpec> spec_;  // if it is not simply called like its type
  std::unique_ptr<Ends> ends_;
  std::unique_ptr<Runtime> runtime_;
};

class RuntimeConformance : public RuntimeTest,
                           public testing::WithParamInterface<RuntimeUnderTest> {
 protected:
  void SetUp() override;
  void restart_agent() { open(GetParam().type); }
  model::InstanceSpec script(const std::string& text) { return GetParam().script(text); }
  // The same, with storage.
  model::InstanceSpec storing_script(const std::string& text);
  std::string until_go() const;
};

inline const std::string kForEver = "echo ready; while :; do sleep 0.05; done";

// What has ended and is not yet waited for by its parent is not running either.
inline bool is_running(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name = text.rfind(") ");
  return name != std::string::npos && text[name + 2] != 'Z' && text[name + 2] != 'X';
}

}  // namespace berth::runtime
