#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/component/medium.h"
#include "runtime/component/slot_state.h"
#include "runtime/component/teller.h"
#include "runtime/runtime.h"
#include "runtime/runtimes.h"

namespace berth::runtime {

// One component of the machine itself: a root file system, a boot partition, a firmware. To start a
// version is to install it, try it and confirm it; what fails leaves the version before active. To
// stop it only ends the run: the machine needs what is installed. There is room for one instance.
//
// What is to be done is decided by runtime/component/slot_state.h; this does it.
class ComponentRuntime final : public Runtime {
 public:
  ComponentRuntime(const MachineConfig& config, const RuntimeSpec& spec, RunListener& listener);

  model::Runtime describe() const override { return described_; }
  ProbeResult probe(Duration deadline) override;

  // First goes back from a version that an earlier life has not come to confirm.
  Result<std::vector<model::FoundRun>> list() override;

  tl::expected<void, model::Problem> start(const model::InstanceSpec& spec,
                                           const model::RunId& run) override;
  void stop(const model::InstanceKey& key, const model::RunId& run, Duration grace) override;
  void leave() override;
  Result<void> pause(const model::InstanceKey& key) override;
  Result<void> resume(const model::InstanceKey& key) override;
  std::map<model::InstanceKey, Consumption> measure() override { return {}; }
  Result<std::unique_ptr<ExecSession>> exec(const model::InstanceKey& key,
                                            const ExecRequest& request,
                                            ExecListener listener) override;
  // On the machine: it is the machine that the component is part of.
  Result<std::unique_ptr<ExecSession>> exec_check(const model::InstanceKey& key,
                                                  const ExecRequest& request,
                                                  ExecListener listener) override;

 private:
  using Name = std::pair<model::InstanceKey, model::RunId>;
  // A start that is under way.
  struct Start {
    Name name;
    Interrupt& interrupt;
    bool is_stopped = false;
  };
  using Perform = std::function<Event(Step step)>;

  Started<void> bring_up(const model::InstanceSpec& spec, const model::RunId& run,
                         const Interrupt& interrupt);
  Started<void> take_over(const Component& wanted);
  Started<void> install(const model::InstanceSpec& spec, const Component& wanted,
                        const Interrupt& interrupt);
  Started<void> perform(Step step, const Job& job);
  Started<void> roll_back(bool& is_lost);
  model::Problem with_what_is_active(model::Problem problem, bool is_lost) const;
  void tell_replaced(const std::optional<Component>& before, const Component& now);

  void begin(Start& start);
  void end(const Start& start, bool has_started);

  // The machinery of updates; `installing_` is held.
  Result<void> settle();
  Result<void> drive(SlotState from, Event event, const Perform& perform);

  Result<SlotState> load();
  void set_state(const SlotState& state);
  SlotState state() const;
  std::string why_not_ready();
  Error not_for_components(const model::InstanceKey& key, std::string_view what) const;

  const ComponentConfig config_;
  const std::filesystem::path directory_;
  const std::unique_ptr<Medium> medium_;

  std::mutex installing_;  // taken before the other: one update, or listing, at a time
  const model::Runtime described_;
  mutable std::mutex mutex_;
  std::optional<SlotState> state_;  // once it is loaded
  Start* under_way_ = nullptr;
  bool leaving_ = false;
  Teller teller_;
};

}  // namespace berth::runtime
