#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "model/ids.h"
#include "model/instance.h"
#include "model/item.h"
#include "model/pool.h"
#include "model/protocol.h"

namespace berth::model {

// One run of an instance. What is told of another run than the current one is late and ignored.
struct RunId {
  CommandNumber generation;
  std::uint32_t attempt = 0;

  friend bool operator==(const RunId&, const RunId&) = default;
  friend auto operator<=>(const RunId&, const RunId&) = default;
};

// A run that a runtime has, also from an earlier life of the agent.
struct FoundRun {
  InstanceKey key;
  RunId run;
  ItemType type = ItemType::Service;
  std::string version;
  bool starting = false;  // it does not run yet; that it does, or has ended, is told later
  // What it was started with, and whether it stands still; so that an agent whose store is lost
  // knows what it has. nullopt: that is not known, or it was told to stop.
  std::optional<InstanceSpec> spec = {};
  std::optional<PoolNote> pool = {};  // of a pool instance: what was kept beside it

  friend bool operator==(const FoundRun&, const FoundRun&) = default;
};

}  // namespace berth::model
