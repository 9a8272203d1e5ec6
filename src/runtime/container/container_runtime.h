#pragma once

#include <mutex>
#include <string>

#include "runtime/container/bundle.h"
#include "runtime/container/image_cache.h"
#include "runtime/runtime.h"
#include "runtime/runtimes.h"
#include "runtime/supervisor.h"

namespace berth::runtime {

// Instances are containers of OCI images, run by runc or crun. Needs root.
class ContainerRuntime final : public Runtime {
 public:
  ContainerRuntime(MachineConfig config, model::RuntimeType type, RunListener& listener);
  ~ContainerRuntime() override;

  model::Runtime describe() const override;
  // Makes a container and takes it away again. Once it has worked it is believed until the program
  // of the runtime changes.
  model::Runtime probe() override;
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
  Started<shim::Launch> prepare(const model::InstanceSpec& spec, const model::RunId& run,
                                const RunDirectory& directory);
  Started<void> join_network(const model::InstanceSpec& spec, const RunDirectory& directory,
                             Container& container);
  shim::Launch launch_of(const std::string& container) const;
  Result<void> order(const model::InstanceKey& key, const std::string& verb);
  std::string state_of(const model::InstanceKey& key);
  std::string why_not_ready() const;
  std::string try_it(const std::string& program) const;

  std::string container_name(const model::InstanceKey& key, const model::RunId& run) const;
  std::string cgroup_of(const std::string& container) const;

  const MachineConfig config_;
  const std::string name_;  // runc or crun
  ImageCache images_;
  mutable std::mutex mutex_;
  std::mutex probe_mutex_;
  model::Runtime described_;
  std::string tried_;  // the identity of the program that worked
  std::uint64_t next_exec_ = 0;
  Supervisor supervisor_;
};

}  // namespace berth::runtime
