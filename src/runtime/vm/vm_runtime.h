#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "runtime/probing/trial.h"
#include "runtime/runtime.h"
#include "runtime/runtimes.h"
#include "runtime/supervision/interrupt.h"
#include "runtime/supervision/supervisor.h"
#include "runtime/vm/emulator.h"
#include "runtime/vm/machine.h"

namespace berth::runtime {

// Instances are virtual machines, run by qemu: with the processor's help where it can be had, else
// emulated. Works without root; then their emulators are ours, and nothing limits them.
class VmRuntime final : public Runtime {
 public:
  VmRuntime(MachineConfig config, const RuntimeSpec& spec, RunListener& listener);
  ~VmRuntime() override;

  model::Runtime describe() const override { return described_; }
  // Runs a guest of a few bytes, which may take longer than the deadline: then nothing is known
  // until it has. Once it has worked it is believed until the program or KVM changes. A runtime
  // that is ready and slow says so in its message.
  ProbeResult probe(Duration deadline) override;
  void reconsider() override { must_try_again_ = true; }
  Result<std::vector<model::FoundRun>> list() override { return supervisor_.list(); }
  tl::expected<void, model::Problem> start(const model::InstanceSpec& spec,
                                           const model::RunId& run) override;
  void stop(const model::InstanceKey& key, const model::RunId& run, Duration grace) override;
  void forget(const model::InstanceKey& key, const model::RunId& run) override;
  Result<void> pause(const model::InstanceKey& key) override;
  Result<void> resume(const model::InstanceKey& key) override;
  void leave() override { leaving_.raise(); }
  std::map<model::InstanceKey, Consumption> measure() override;
  std::vector<model::InstanceKey> running() const override { return supervisor_.running(); }
  // Nothing of ours is inside of a machine that could start a program there.
  Result<std::unique_ptr<ExecSession>> exec(const model::InstanceKey& key,
                                            const ExecRequest& request,
                                            ExecListener listener) override;

 private:
  // A file of an image that is there and is what it should be.
  struct ImageFile {
    std::filesystem::path path;
    std::string identity;
  };

  Started<shim::Launch> prepare(const model::InstanceSpec& spec, const model::RunId& run,
                                const RunDirectory& directory);
  Started<ImageFile> image_file(const std::string& reference);
  Started<void> add_image(const model::VmImage& image, const std::filesystem::path& storage,
                          Machine& machine);
  Started<void> add_storage(const model::InstanceSpec& spec, const std::filesystem::path& storage,
                            Machine& machine) const;
  Started<void> join_network(const model::InstanceSpec& spec, const model::RunId& run,
                             Machine& machine, shim::Launch& launch);
  Started<void> give(const model::InstanceSpec& spec, const RunDirectory& directory,
                     Machine& machine) const;
  Started<void> limit(const model::InstanceSpec& spec, const model::RunId& run,
                      shim::Launch& launch) const;
  static Result<void> order(const LiveRun& run, const std::string& command);
  ProbeResult probe_compute();
  ProbeResult try_it(const std::string& program);

  const MachineConfig config_;
  const model::Runtime described_;
  const std::string program_;
  Interrupt leaving_;
  mutable std::mutex mutex_;
  std::mutex probe_mutex_;
  Trial trial_;
  std::atomic<bool> must_try_again_ = false;
  Emulator emulator_;                            // that has worked
  std::map<std::string, std::string> verified_;  // the digests of files, by their identities
  Supervisor supervisor_;
};

}  // namespace berth::runtime
