#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "control/config.h"
#include "model/manifest.h"
#include "sim/checker.h"
#include "sim/cluster.h"
#include "sim/faults.h"
#include "sim/injector.h"
#include "sim/stage.h"

namespace berth::sim {

// Whether the users have applications and open sessions of them: in every fourth world.
enum class Sessions { Drawn, No, Yes };

// What a run is drawn from.
struct Setup {
  std::uint64_t seed = 1;
  std::optional<std::size_t> nodes = std::nullopt;  // drawn
  Duration faulty = 600s;                           // how long things go wrong
  Faults faults = all_faults();
  Sabotage sabotage = Sabotage::None;
  Trace::Sink trace = nullptr;
  std::optional<Loads> loads = std::nullopt;  // what instances use; else all the same little
  Duration heartbeat = 2s;                    // a slow heart makes weeks short
  Sessions sessions = Sessions::No;
  std::optional<control::IdRange> session_ports = std::nullopt;  // of each address
};

// A whole unit in one process and in virtual time: the production cores of controller and agents
// over simulated machines, disks and links, watched by the checkers.
class World {
 public:
  World(const Setup& setup, const Cluster& cluster);

  // Stops early if something is violated.
  void run_for(Duration duration);

  // Users, or a script, call the controller; false while there is none.
  bool call(const control::Event& call);
  void begin_faults() { injector_.begin(); }
  void heal() { injector_.heal(); }
  // Tells the checkers that all is as desired, and later that everything had time to rest.
  void settled() { watch_->settled(); }
  void rested() { watch_->rested(); }

  // --- What can be seen -------------------------------------------------------------------------

  Time now() const { return stage_.now(); }
  // nullptr while the controller is down.
  const control::Controller* controller() const { return controller_.core(); }
  const ControllerHost& controller_host() const { return controller_; }
  const AgentHosts& agents() const { return agents_; }
  const Network& network() const { return network_; }
  // Whether another machine pretends to be it; or has ever done so.
  bool is_cloned(const model::NodeId& node) const { return clones_.is_cloned(node); }
  bool was_cloned(const model::NodeId& node) const { return clones_.was_cloned(node); }
  // Since when nothing has gone wrong for the node, its link and the controller; later than now
  // while something is going wrong.
  Time calm_since(const model::NodeId& node) const;
  Time controller_calm_since() const;

  const Counts& counts() const { return stage_.counts; }
  std::uint64_t hash() const { return stage_.trace.hash(); }
  const std::vector<Violation>& violations() const { return violations_; }
  void violate(std::string_view checker, std::string what);
  // A line in the trace.
  void note(std::string_view who, std::string_view what);

 private:
  // Hands every moment to every checker.
  class Watch;

  AgentHost& host_at(const model::NodeId& link);
  void tick();
  void measure();

  Stage stage_;
  Random random_;
  const std::optional<Loads> loads_;
  std::vector<Violation> violations_;
  std::unique_ptr<Checker> watch_;
  Network network_;
  ControllerHost controller_;
  AgentHosts agents_;
  Clones clones_;
  Injector injector_;
};

}  // namespace berth::sim
