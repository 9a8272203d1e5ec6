#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/random.h"
#include "sim/agent_host.h"
#include "sim/clones.h"
#include "sim/controller_host.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/stage.h"

namespace berth::sim {

using AgentHosts = std::map<model::NodeId, std::unique_ptr<AgentHost>>;

// Makes things go wrong at the drawn rates, until everything is healed.
class Injector {
 public:
  struct World {
    ControllerHost& controller;
    AgentHosts& agents;
    Network& network;
    Clones& clones;
  };

  Injector(Stage& stage, Random random, const Faults& faults, World world);

  void begin();
  void heal();

  // Until when an episode that was begun is going to trouble the node, or the controller.
  Time troubled_until(const model::NodeId& node) const;
  Time controller_troubled_until() const { return controller_troubled_until_; }

 private:
  void repeat(Duration mean, std::function<void()> episode);
  void begin_network();
  void begin_processes();
  void begin_disks();
  void begin_machines();
  void begin_identities();

  void partition();
  void crash_controller();
  void crash_agent();
  using Trouble = void (Disk::*)();
  void trouble_a_disk(Trouble trouble);
  void make_a_disk_lie();
  void lose_a_store();
  void lose_the_controllers();
  void jump_clock();
  void clone_a_node();
  void hang_a_runtime();
  void unready_a_runtime();
  void put_a_node_in_error();

  AgentHost& draw_agent();
  const model::RuntimeId& draw_runtime(const Machine& machine);
  // Ends the episode after the duration, if there was no healing before.
  void for_a_while(const model::NodeId& node, Duration duration, std::function<void()> end);

  Stage& stage_;
  Random random_;
  Rates rates_;
  World world_;
  bool active_ = false;
  std::map<model::NodeId, Time> troubled_until_;
  Time controller_troubled_until_{};
};

}  // namespace berth::sim
