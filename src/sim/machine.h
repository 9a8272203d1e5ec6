#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "agent/events.h"
#include "base/random.h"
#include "sim/faults.h"
#include "sim/loads.h"
#include "sim/pool_machine.h"
#include "sim/stage.h"

namespace berth::sim {

// A run as it really is, whatever anybody believes.
struct Run {
  enum class State { Starting, Running, Stopping };

  model::InstanceSpec spec;
  State state = State::Starting;
  bool preinstalled = false;
  bool known_to_agent = false;  // the agent was told that it has started
  bool sick = false;            // fails its health checks
  bool paused = false;
  bool is_late = false;  // would be done with its work if it had not been paused
  Time since{};
  std::optional<model::PoolNote> note = {};  // kept beside it, by the clock of the world
};

// How long an instance lives before it is done with its work: simulated jobs say so in seconds by
// the arguments "finish", "20". All others live until they are stopped.
std::optional<Duration> lifetime(const model::Item& item);

// What a simulated instance has counted in such a state.
std::uint64_t count_in(const model::SavedState& state);

// Whether no run of the item ever comes up.
bool is_broken(const model::Item& item);

// The hardware of a node: its runtimes and what runs on them. It carries out what the agent asks,
// more or less: starts can be slow, fail or be lied about, a runtime can hang, runs can crash.
class Machine {
 public:
  using Runs = std::map<std::pair<model::InstanceKey, agent::RunId>, Run>;
  using Tell = std::function<void(agent::Event)>;

  Machine(Stage& stage, model::NodeId node, model::NodeInfo info, Random random, Tell tell);

  void set_moods(const Moods& moods) {
    moods_ = moods;
    pools_.set_moods(moods);
  }
  // From now on instances use what these say; without, all use the same little.
  void set_loads(const Loads& loads, Random random) { meter_.emplace(loads, random); }
  void preinstall(model::InstanceSpec spec);
  // Has on its disk what the other one has.
  void copy_disk(const Machine& other);

  void perform(const agent::Action& action);
  // Times of notes are by the clock of the world.
  void perform(const agent::PoolAction& action);
  // Answers to what an earlier agent process asked for go nowhere.
  void agent_restarted();
  void agent_died() { pools_.agent_died(); }
  void power_cut();

  void crash_a_run();
  void sicken_a_run();
  void hang(const model::RuntimeId& runtime, Duration duration);
  void set_readiness(const model::RuntimeId& runtime, model::Readiness readiness);
  // How often that has changed something.
  std::uint64_t readiness_changes() const { return readiness_changes_; }
  void set_state(model::NodeState state);
  // Everything is mended: nothing hangs, is sick or lied about any more.
  void heal();
  void measure();

  const model::NodeId& node() const { return node_; }
  const model::NodeInfo& info() const { return info_; }
  // What the agent is told of the machine.
  agent::NodeObserved observed() const;
  const Runs& runs() const { return runs_; }
  const PoolMachine& pools() const { return pools_; }
  // As the agent has applied it last; gone with the power.
  const std::optional<model::NodeNetwork>& network() const { return network_; }
  // Whether instances count on; else what they have counted must be known in the end.
  bool is_counting() const { return is_counting_; }
  // What an instance has counted in its state on this machine's disk.
  std::uint64_t counted(const model::InstanceKey& key) const;
  // What it would go on from if it were started so.
  std::uint64_t counted_after(const agent::Start& start) const;
  // When something last happened that the agent did not ask for or does not know yet.
  Time disturbed_at() const { return lies_.empty() ? disturbed_ : stage_.now(); }
  // When a runtime has last said that something runs which did not, or that was found out.
  Time lied_at() const { return lies_.empty() ? lied_ : stage_.now(); }
  // When a runtime last hung, or came back from it.
  Time hung_at() const { return hangs_.empty() ? hung_ : stage_.now(); }

 private:
  struct Hang {
    std::deque<agent::Action> waiting;
    std::uint64_t id = 0;
  };
  using RunKey = Runs::key_type;

  static agent::FoundRun found(const RunKey& key, const Run& run);
  void carry_out(const agent::Action& action);
  void carry_out_one(const agent::ListRuns& list);
  void carry_out_one(const agent::Prepare& prepare);
  void carry_out_one(const agent::Start& start);
  void carry_out_one(const agent::Stop& stop);
  void begin_check(const agent::CheckHealth& check);
  void carry_out_one(const agent::CheckHealth& check);
  void carry_out_one(const agent::SetPausing& set);
  void carry_out_one(const agent::ApplyNetwork& apply);
  void carry_out_one(const agent::EraseData& erase);
  void carry_out_one(const agent::TidyImages&) {}
  void end_hang(const model::RuntimeId& runtime, std::uint64_t id);
  void started(const RunKey& key, Run& run);
  void start_failed(const RunKey& key, model::Problem problem);
  void lie_about(const agent::Start& start);
  void finish_later(const RunKey& key);
  void finish(const RunKey& key);
  void end_run(const RunKey& key, std::int32_t exit_code);
  void tell(const agent::Event& event);
  void answer(Duration delay, std::function<void(bool asker_lives)> task);
  std::optional<RunKey> draw_running();
  const Run* find_running(const model::InstanceKey& key) const;
  void take_state(const agent::Start& start);
  std::optional<agent::StateSaved> state_of(const model::InstanceKey& key) const;
  bool counts(const Run& run) const;
  void count_on();
  void look_at_states();
  void disturb() { disturbed_ = stage_.now(); }

  Stage& stage_;
  model::NodeId node_;
  model::NodeInfo info_;
  Random random_;
  Tell tell_;
  Moods moods_;
  Runs runs_;
  std::optional<model::NodeNetwork> network_;
  std::set<RunKey> lies_;  // said to run
  // The disk, which survives everything: each instance counts in its state.
  std::map<model::InstanceKey, std::uint64_t> counts_;
  std::set<model::ItemKey> images_;
  // The name of the state that was taken last.
  std::map<model::InstanceKey, std::string> taken_;
  bool is_counting_ = true;
  std::map<model::RuntimeId, Hang> hangs_;
  std::uint64_t next_hang_ = 0;
  std::uint64_t agent_life_ = 0;
  std::uint64_t power_life_ = 0;
  std::optional<LoadMeter> meter_;
  Time disturbed_{};
  std::uint64_t readiness_changes_ = 0;
  Time hung_ = Time{} - 24h;
  Time lied_ = Time{} - 24h;
  PoolMachine pools_;
};

}  // namespace berth::sim
