#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/item.h"

namespace berth::control {

// Where a resource of a node stands with its thresholds. It is overloaded when it has been used
// above max for the timeout without a break, and no longer when it has been used at or below min
// for as long. Whatever is shorter does nothing.
enum class LoadState {
  Normal,
  Above,       // max, but not for long enough yet
  Overloaded,  // until it is relieved
  Below,       // overloaded, but at or below min for a while now
};

std::string_view to_string(LoadState state);

struct ResourceLoad {
  LoadState state = LoadState::Normal;
  Time since;             // of the state
  Time overloaded_since;  // of an overloaded one, also while it is below

  bool is_overloaded() const { return state == LoadState::Overloaded || state == LoadState::Below; }
  friend bool operator==(const ResourceLoad&, const ResourceLoad&) = default;
};

// What was last done about an overload.
struct Attempt {
  Time at;
  std::uint64_t cluster_changes = 0;  // how often the cluster had changed by then
};

struct NodeLoad {
  std::optional<model::Thresholds> thresholds;  // as configured; nullopt: to be looked up
  ResourceLoad cpu;
  ResourceLoad ram;
  std::optional<Attempt> attempt;  // of the present overload

  bool is_overloaded() const { return cpu.is_overloaded() || ram.is_overloaded(); }
};

// Of an instance, against an alert of its item.
struct ResourceAlert {
  ResourceLoad load;
  std::string text;  // of the last crossing

  bool is_quiet() const { return load.state == LoadState::Normal; }
};

struct InstanceAlerts {
  ResourceAlert cpu;
  ResourceAlert ram;

  bool are_quiet() const { return cpu.is_quiet() && ram.is_quiet(); }
};

}  // namespace berth::control
