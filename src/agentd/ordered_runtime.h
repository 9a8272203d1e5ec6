#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "agent/events.h"
#include "runtime/runtime.h"

namespace berth::agentd {

using Tell = std::function<void(agent::Event)>;

// A runtime, told what it shall tell to.
using MakeRuntime = std::function<std::unique_ptr<runtime::Runtime>(runtime::RunListener&)>;

// The states of instances on this machine; see StateKeeper. None: nobody cares for them.
struct StateEnds {
  std::function<std::optional<agent::StateSaved>(const model::InstanceKey&)> look;
  std::function<void(const model::InstanceKey&)> begin;
  std::function<tl::expected<void, model::Problem>(const model::InstanceSpec&,
                                                   const model::SavedState&)>
      take;
};

// A runtime whose facts reach the core in the order in which they happened: between the moment when
// the runs are listed and the moment when the list is told, no start ends and no end is told. Its
// methods may block; those of one instance come one after the other.
class OrderedRuntime final : public runtime::RunListener {
 public:
  OrderedRuntime(const MakeRuntime& make, Tell tell, StateEnds states = {});

  runtime::Runtime& runtime() { return *runtime_; }
  const model::RuntimeId& id() const { return id_; }
  model::RuntimeKind kind() const { return kind_; }

  void list();
  bool is_prepared(const model::InstanceSpec& spec) { return runtime_->is_prepared(spec); }
  tl::expected<void, model::Problem> prepare(const model::InstanceSpec& spec) {
    return runtime_->prepare(spec);
  }
  void tell_prepared(const agent::Prepare& prepare,
                     const tl::expected<void, model::Problem>& outcome);
  void start(const agent::Start& start);
  void stop(const agent::Stop& stop);
  void set_pausing(const agent::SetPausing& set);

  // Nothing is told from now on.
  void mute();

  void exited(const model::InstanceKey& key, const model::RunId& run, std::int32_t exit_code,
              const model::Problem& problem) override;
  void started(const model::InstanceKey& key, const model::RunId& run) override;
  void remarked(const model::InstanceKey& key, const model::RunId& run,
                const model::Problem& remark) override;

 private:
  tl::expected<void, model::Problem> try_start(const agent::Start& start);

  void tell(agent::Event event);

  const Tell tell_;
  const StateEnds states_;
  std::mutex telling_;  // the last to be taken
  bool is_mute_ = false;
  std::shared_mutex starting_;  // shared by starts, owned by a list
  std::mutex mutex_;
  bool listing_ = false;
  std::vector<agent::Exited> held_back_;           // ends that came while it was listing
  std::vector<agent::Started> held_back_started_;  // the same of those that run now
  std::vector<agent::Remarked> held_back_remarks_;
  std::unique_ptr<runtime::Runtime> runtime_;
  model::RuntimeId id_;
  model::RuntimeKind kind_ = model::RuntimeKind::Container;
};

}  // namespace berth::agentd
