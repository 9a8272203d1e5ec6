#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "control/controller.h"
#include "model/condition.h"
#include "model/instance.h"
#include "model/node.h"

// What the controller knows, as plain values that leave its thread: copied between steps, made
// into messages elsewhere.
namespace berth::controld {

struct InstanceView {
  model::InstanceStatus status;
  model::ItemType type = model::ItemType::Service;
  std::int64_t priority = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::optional<model::Ipv4> address;  // in the network of its owner
  std::vector<std::string> names;
  model::Usage usage;
  model::Footprint footprint;
  std::uint64_t state_generation = 0;  // of the state that is kept of it; 0: none
  bool gone = false;                   // nobody asks for it any more
  std::optional<Duration> kept_for;    // of a cached one: until it is deleted
  std::string decision;                // the last one about it, in words
  bool to_be_paused = false;

  friend bool operator==(const InstanceView&, const InstanceView&) = default;
};

struct ConditionView {
  model::ConditionType type = model::ConditionType::Ready;
  model::ConditionStatus status = model::ConditionStatus::Unknown;
  std::string reason;
  std::string message;
  Duration changed_at{};  // since 1970

  friend bool operator==(const ConditionView&, const ConditionView&) = default;
};

// What is made of a runtime that is in the node's `info`.
struct ReadinessView {
  model::Readiness graced = model::Readiness::Unknown;
  Duration not_ready_since{};  // since 1970; 0: it is ready
  bool evicting = false;

  friend bool operator==(const ReadinessView&, const ReadinessView&) = default;
};

struct NodeView {
  model::NodeId id;
  model::NodeInfo info;
  model::RuntimeId primary;
  std::vector<ReadinessView> readiness;  // of the runtimes, in their order
  std::vector<ConditionView> conditions;
  Duration heard_at{};  // since 1970
  control::Liveness liveness = control::Liveness::Unknown;
  Duration silent_for{};  // of one that is not reachable
  bool cordoned = false;
  bool draining = false;
  model::Usage reserved;
  std::optional<model::Usage> used;
  control::ResourceLoad cpu_load;
  control::ResourceLoad ram_load;
  Time seen_at;  // what the times of the loads are counted to
  model::NodeMeasurement measurement;
  model::NodeSettings settings;
  std::uint32_t instances = 0;  // placed there, or not gone from there yet
  std::uint32_t services = 0;   // those of them that a drain takes away
  bool gone = false;

  friend bool operator==(const NodeView&, const NodeView&) = default;
};

// The instances of an application, by what they are good for.
struct PoolView {
  model::ApplicationKey application;
  std::uint32_t ready = 0;
  std::uint32_t pending = 0;  // also those that will be standby
  std::uint32_t standby = 0;
  std::uint32_t active = 0;
  std::uint32_t terminating = 0;  // also those that are being replaced elsewhere
  std::uint32_t waiting = 0;      // sessions
  model::Problem refusal;
  model::Problem failure;
  std::uint32_t failures = 0;
  bool gone = false;

  friend bool operator==(const PoolView&, const PoolView&) = default;
};

InstanceView view_of(const control::Controller& controller, const model::InstanceStatus& status);
PoolView view_of(const control::Controller& controller, const model::ApplicationKey& application);
std::vector<PoolView> pools_of(const control::Controller& controller);
// Of pools: not part of what is asked for by deployments.
std::vector<InstanceView> pool_instances_of(const control::Controller& controller);

// Ordered by key; by id.
std::vector<InstanceView> instances_of(const control::Controller& controller);
// Those that nobody asks for, but whose ids and data are kept.
std::vector<InstanceView> cached_instances_of(const control::Controller& controller);
// Of these only.
std::vector<InstanceView> instances_of(const control::Controller& controller,
                                       const std::vector<model::InstanceKey>& keys);
std::vector<NodeView> nodes_of(const control::Controller& controller, Time now);

std::uint64_t revision_of(const control::Controller& controller);

}  // namespace berth::controld
