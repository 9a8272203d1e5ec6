#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "agent/events.h"
#include "agentd/network_control.h"
#include "agentd/runtime_set.h"
#include "base/result.h"
#include "shell/workers.h"

namespace berth::agentd {

// One health check, to its end. May block.
using CheckHealth = std::function<agent::HealthChecked(const agent::CheckHealth&)>;

// Takes away what an instance has left on this machine. May block, but gives up when it is told to.
using EraseData =
    std::function<Result<void>(const model::InstanceKey&, const std::stop_token& leaving)>;

// Removes images that are neither used nor among these. May block.
using TidyImages = std::function<void(const std::set<std::string>& wanted)>;

// Does what the core decides, on threads of its own: what concerns one instance one after the
// other, different instances side by side. Answers are told as facts.
class Performer {
 public:
  // The runtimes must outlive it, and so must `networks`; without that, networks are not looked
  // after on this machine.
  Performer(RuntimeSet& runtimes, CheckHealth check_health, EraseData erase_data, Tell tell,
            std::size_t threads, NetworkControl* networks = nullptr, TidyImages tidy_images = {});

  // Neither blocks. The end of a run is forgotten when it is durable what follows from it.
  void perform(const agent::Action& action);
  void forget(const agent::Exited& exited);

  // What is under way comes to its end, what waits is dropped. Nothing is done after it.
  void stop();

 private:
  using Name = std::pair<model::InstanceKey, model::RunId>;

  void begin(const agent::ListRuns& list);
  void begin(const agent::Prepare& prepare);
  void begin(const agent::Start& start);
  void begin(const agent::Stop& stop);
  void begin(const agent::CheckHealth& check);
  void begin(const agent::SetPausing& set);
  void begin(const agent::ApplyNetwork& apply);
  void begin(const agent::EraseData& erase);
  void begin(const agent::TidyImages& tidy);

  void fetch(shell::Workers& fetchers, const RuntimeRef& runtime, const agent::Prepare& prepare);
  std::vector<agent::Prepare> take_waiting_for(const std::string& image);
  bool take_turn(const Name& start);
  void take_check(const Name& name);

  shell::Workers& workers_for(const OrderedRuntime& runtime);
  shell::Workers& fetchers_for(const agent::Prepare& prepare);

  RuntimeSet& runtimes_;
  const CheckHealth check_health_;
  const EraseData erase_data_;
  const Tell tell_;
  NetworkControl* const networks_;
  const TidyImages tidy_images_;
  std::mutex mutex_;
  std::set<Name> waiting_;       // starts whose turn has not come, and that shall still be done
  std::set<Name> under_way_;     // starts that a runtime is busy with
  std::multiset<Name> pausing_;  // orders to stand still or to go on that have not been carried out
  std::set<Name> checks_;        // whose turn has not come
  std::map<std::string, std::vector<agent::Prepare>> fetching_;  // who waits for which image
  const std::size_t threads_;
  std::stop_source leaving_;
  shell::Workers workers_;
  shell::Workers erasers_;  // apart: to erase much takes minutes
  // Each has its own: one that hangs, or takes minutes to install something, keeps no other
  // waiting.
  std::map<model::RuntimeId, std::unique_ptr<shell::Workers>> of_runtimes_;
  // Apart, for each place that images come from: to pull one takes minutes, and a registry may not
  // answer at all. "": this machine.
  std::map<std::string, std::unique_ptr<shell::Workers>> fetchers_;
  shell::Workers checkers_;  // apart, so that a slow check does not keep anything from starting
};

}  // namespace berth::agentd
