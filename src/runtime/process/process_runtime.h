#pragma once

#include "runtime/runtime.h"
#include "runtime/runtimes.h"
#include "runtime/supervision/supervisor.h"

namespace berth::runtime {

// Instances are plain processes of the machine, each in a session and with a user of its own. Works
// without root; then they are ours.
class ProcessRuntime final : public Runtime {
 public:
  ProcessRuntime(MachineConfig config, model::RuntimeId id, RunListener& listener);
  ~ProcessRuntime() override;

  model::Runtime describe() const override { return described_; }
  ProbeResult probe(Duration deadline) override;
  Result<std::vector<model::FoundRun>> list() override { return supervisor_.list(); }
  tl::expected<void, model::Problem> start(const model::InstanceSpec& spec,
                                           const model::RunId& run) override;
  void stop(const model::InstanceKey& key, const model::RunId& run, Duration grace) override;
  void forget(const model::InstanceKey& key, const model::RunId& run) override;
  Result<void> pause(const model::InstanceKey& key) override;
  Result<void> resume(const model::InstanceKey& key) override;
  std::map<model::InstanceKey, Consumption> measure() override;
  std::vector<model::InstanceKey> running() const override { return supervisor_.running(); }
  Result<std::unique_ptr<ExecSession>> exec(const model::InstanceKey& key,
                                            const ExecRequest& request,
                                            ExecListener listener) override;

 private:
  Started<shim::Launch> prepare(const model::InstanceSpec& spec, const model::RunId& run) const;
  Started<void> limit_cpu(const model::InstanceSpec& spec, const model::RunId& run,
                          shim::Launch& launch) const;
  static Result<void> signal_all(const LiveRun& run, int number);

  const MachineConfig config_;
  const model::Runtime described_;
  Supervisor supervisor_;
};

}  // namespace berth::runtime
