#pragma once

#include <map>
#include <memory>
#include <set>

#include "sim/agent_host.h"

namespace berth::sim {

// Machines that were made from a copy of a node's disk: they have its identity, and whichever of
// the two connects last is the node. No promise is watched on them, as nobody can keep any; the
// unit must only survive them, and come to rest when they are gone.
class Clones {
 public:
  Clones(Stage& stage, Random random, Network& network, Checker& watch);

  // Switches one on, unless there is one.
  void add(const AgentHost& original);
  void remove(const model::NodeId& node);
  void remove_all();

  void measure();
  // nullptr: the link is a node's own.
  AgentHost* find(const model::NodeId& link);
  bool is_cloned(const model::NodeId& node) const { return present_.contains(node); }
  // Whether there has ever been one.
  bool was_cloned(const model::NodeId& node) const { return cloned_.contains(node); }

 private:
  Stage& stage_;
  Random random_;
  Network& network_;
  Checker& watch_;
  Checker blind_;
  std::map<model::NodeId, std::unique_ptr<AgentHost>> hosts_;  // by link, also those that are gone
  std::map<model::NodeId, AgentHost*> present_;  // by the node that they pretend to be
  std::set<model::NodeId> cloned_;
};

}  // namespace berth::sim
