#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/cluster/observed_node.h"
#include "control/network/networks.h"
#include "control/step.h"

namespace berth::control {

struct Context;

// The room of networks: addresses and names of what is placed, and what each node must know of
// them.
class NetworkRoom {
 public:
  // At a start, and after the records were rebuilt: who holds which address by its record, before
  // anything is erased.
  void restore(const Step& step);
  // It has said something else of itself.
  void look_at(const model::NodeId& node) { marked_.insert(node); }
  // By this step a node is told to run it without a network, where it may be from the next one on.
  // What holds an address may still be on its network there, until the node has said otherwise.
  void told_without(const model::InstanceKey& key) {
    if (networks_.holdings.contains(key)) told_without_.insert(key);
  }

  void decide(Context& context);
  // Its addresses are given back by the next decision.
  void forget(const model::NodeId& node) { look_at(node); }

  // Under which the instance is found by others; none if it is on no network.
  std::vector<std::string> names_of(const model::InstanceKey& key) const;
  // Why instances cannot be on their network.
  const std::map<model::InstanceKey, model::Problem>& problems() const {
    return networks_.problems;
  }
  bool has_problem(const model::InstanceKey& key) const { return networks_.problems.contains(key); }
  // Whether it must stop, and then give its address back.
  bool is_retiring(const model::InstanceKey& key) const { return networks_.retiring.contains(key); }

  // What a copy of the instance, in this version and from this image, has of a network on the node.
  std::optional<model::InstanceNetwork> network_at(const Context& context,
                                                   const model::InstanceKey& key,
                                                   const model::NodeId& node,
                                                   const std::string& version,
                                                   std::uint32_t image) const;
  // What tells one state of a node's networks from another.
  NetworkOrder present_network(const model::NodeId& node) const;
  // The whole truth for the node, in a fixed order.
  model::NodeNetwork network_of(const Step& step, const model::NodeId& node) const;

 private:
  std::set<model::InstanceKey> take_keys(const Context& context);

  Networks networks_;
  std::set<model::NodeId> marked_;
  std::set<model::InstanceKey> told_without_;
};

}  // namespace berth::control
