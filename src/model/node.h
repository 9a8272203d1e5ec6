#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "model/ids.h"
#include "model/item.h"
#include "model/names.h"
#include "model/network.h"
#include "model/runtime.h"

namespace berth::model {

enum class NodeState { Provisioned, Paused, Error, Unprovisioned };

template <>
struct Names<NodeState> {
  static constexpr std::string_view kWhat = "node state";
  static constexpr std::array kTable{
      Word<NodeState>{NodeState::Provisioned, "provisioned"},
      Word<NodeState>{NodeState::Paused, "paused"},
      Word<NodeState>{NodeState::Error, "error"},
      Word<NodeState>{NodeState::Unprovisioned, "unprovisioned"},
  };
};

// An amount of cpu and ram: a capacity, or a measured average.
struct Usage {
  Dmips cpu;
  Bytes ram;

  friend Usage operator+(Usage a, Usage b) { return {a.cpu + b.cpu, a.ram + b.ram}; }
  friend Usage operator-(Usage a, Usage b) { return {a.cpu - b.cpu, a.ram - b.ram}; }
  friend bool operator==(const Usage&, const Usage&) = default;
};

// Bytes per second.
struct Traffic {
  std::int64_t received = 0;
  std::int64_t sent = 0;

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

struct PartitionUsage {
  std::string name;  // "storage", "state"
  Bytes size;
  Bytes used;

  friend bool operator==(const PartitionUsage&, const PartitionUsage&) = default;
};

// What is measured of a node beside cpu and ram, averaged.
struct NodeMeasurement {
  Traffic traffic;
  std::vector<PartitionUsage> partitions;

  friend bool operator==(const NodeMeasurement&, const NodeMeasurement&) = default;
};

// Where storage and state of instances are kept; no size = not limited.
struct Partitions {
  std::optional<Bytes> storage;
  std::optional<Bytes> state;
  bool same_partition = false;  // one counter, of the size that `storage` says
  bool unit_wide = false;       // one and the same partition for all nodes that say so

  friend bool operator==(const Partitions&, const Partitions&) = default;
};

struct SharedResource {
  std::string name;
  std::uint32_t count = 0;  // 0 = unlimited

  friend bool operator==(const SharedResource&, const SharedResource&) = default;
};

// What a node says about itself.
struct NodeInfo {
  std::string type;
  NodeState state = NodeState::Provisioned;
  std::optional<Ipv4> address;  // for the tunnels of networks; nullopt: instances have none here
  Usage capacity;
  Partitions partitions;
  std::vector<SharedResource> shared_resources;
  std::vector<Runtime> runtimes;
  std::vector<std::string> remarks;  // for people: where its figures come from, what it cannot do
  // Why its agent cannot write down what it is told: what runs goes on, nothing new is begun there.
  // Empty: it can.
  std::string store_problem;

  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

const Runtime* find_runtime(const NodeInfo& node, const RuntimeId& id);

// The runtime whose readiness is the node's: the one marked so, else the first of kind container
// that has been Ready, else the first of that kind, else the first; nullptr on a node without
// runtimes.
const Runtime* primary_runtime(const NodeInfo& node,
                               const std::set<RuntimeId>& have_been_ready = {});

// An instance as a Node document lists it.
struct RunningInstance {
  InstanceKey key;
  std::string version;
  RuntimeId runtime;
  Usage usage;
  bool state_stays = false;  // its state is too large to go along when it moves
  bool finished = false;     // it has done what it was for

  friend bool operator==(const RunningInstance&, const RunningInstance&) = default;
};

// One that does not run, but has left what it has stored on the node.
struct RestingInstance {
  InstanceKey key;
  bool state_stays = false;

  friend bool operator==(const RestingInstance&, const RestingInstance&) = default;
};

// A node as offline plans and simulations describe it.
struct Node {
  NodeId id;
  NodeInfo info;
  bool connected = true;
  bool cordoned = false;
  bool draining = false;       // cordoned, and what runs there goes elsewhere
  std::optional<Usage> usage;  // measured total, averaged
  std::vector<RunningInstance> running;
  std::vector<RestingInstance> resting;

  friend bool operator==(const Node&, const Node&) = default;
};

struct Ratios {
  std::optional<std::uint32_t> cpu;
  std::optional<std::uint32_t> ram;
  std::optional<std::uint32_t> storage;
  std::optional<std::uint32_t> state;

  friend bool operator==(const Ratios&, const Ratios&) = default;
};

// In percent of the node's capacity.
struct DefaultRequest {
  std::optional<std::uint32_t> cpu;
  std::optional<std::uint32_t> ram;

  friend bool operator==(const DefaultRequest&, const DefaultRequest&) = default;
};

// What the operator says about nodes. At most one of `node` and `type` is set; neither =
// system-wide.
struct NodeConfig {
  std::string name;
  std::optional<NodeId> node;
  std::optional<std::string> type;
  std::optional<std::int64_t> priority;
  std::optional<std::set<std::string>> labels;
  std::optional<Ratios> ratios;
  std::optional<DefaultRequest> default_request;
  std::optional<Thresholds> thresholds;
  std::optional<Duration> evict_after;

  friend bool operator==(const NodeConfig&, const NodeConfig&) = default;
};

// The system-wide config named "default" gives way to any other system-wide one, field by field, so
// that what is shipped is in nobody's way.
bool is_fallback(const NodeConfig& config);

// What a control plane has from its first start on, to be changed or deleted like any other: nodes
// are overloaded above 85 % of cpu or ram for a minute.
NodeConfig shipped_config();

// The configuration of one node: each field as a whole from the config for the node, else for its
// type, else system-wide, else the one named "default", else the default.
struct NodeSettings {
  std::int64_t priority = 0;
  std::set<std::string> labels;
  Ratios ratios;
  DefaultRequest default_request;
  Thresholds thresholds;
  // What runs on a runtime that has not been Ready for so long, its grace not counted, goes
  // elsewhere; nullopt: it stays.
  std::optional<Duration> evict_after;

  friend bool operator==(const NodeSettings&, const NodeSettings&) = default;
};

NodeSettings settings_for(const NodeId& node, const std::string& type,
                          const std::vector<const NodeConfig*>& configs);

}  // namespace berth::model
