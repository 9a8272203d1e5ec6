#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "runtime/container/bundle.h"
#include "runtime/container/image_cache.h"
#include "runtime/probing/trial.h"
#include "runtime/runtime.h"
#include "runtime/runtimes.h"
#include "runtime/supervision/interrupt.h"
#include "runtime/supervision/supervisor.h"

namespace berth::runtime {

// Instances are containers of OCI images, run by runc or crun. Needs root.
class ContainerRuntime final : public Runtime {
 public:
  ContainerRuntime(MachineConfig config, const RuntimeSpec& spec, RunListener& listener);
  ~ContainerRuntime() override;

  model::Runtime describe() const override { return described_; }
  // Makes a container and takes it away again. Once that has worked it is believed until one of the
  // programs that are needed changes; what can be seen without starting anything is looked at each
  // time.
  ProbeResult probe(Duration deadline) override;
  void reconsider() override { must_try_again_ = true; }
  void leave() override { leaving_.raise(); }
  // The first one also ends the containers that belong to no run.
  Result<std::vector<model::FoundRun>> list() override;
  bool is_prepared(const model::InstanceSpec& spec) override;
  tl::expected<void, model::Problem> prepare(const model::InstanceSpec& spec) override;
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
  Started<shim::Launch> make_launch(const model::InstanceSpec& spec, const model::RunId& run,
                                    const RunDirectory& directory);
  Started<void> join_network(const model::InstanceSpec& spec, const model::RunId& run,
                             const RunDirectory& directory, Container& container);
  shim::Launch launch_of(const std::string& container) const;
  void remove_strays() const;
  Result<void> order(const model::InstanceKey& key, const std::string& verb);
  std::string state_of(const model::InstanceKey& key);
  ProbeResult probe_compute(Time until, Duration deadline);
  ProbeResult try_it(const std::string& program, Time until, Duration deadline) const;
  Result<void> make_and_remove(const std::string& program, const std::filesystem::path& directory,
                               Time until) const;
  std::string why_unusable(const std::string& program) const;

  std::string container_name(const model::InstanceKey& key, const model::RunId& run) const;
  std::string cgroup_of(const std::string& container) const;
  std::string cgroup_of(const RunRecord& record) const;
  std::string probe_container() const;

  const MachineConfig config_;
  const model::Runtime described_;
  const std::string program_;  // as it was configured
  Interrupt leaving_;
  ImageCache images_;
  std::mutex probe_mutex_;
  Trial trial_;
  std::atomic<bool> must_try_again_ = false;
  std::atomic<std::uint64_t> next_exec_ = 0;
  std::atomic<bool> has_removed_strays_ = false;
  Supervisor supervisor_;
};

}  // namespace berth::runtime
