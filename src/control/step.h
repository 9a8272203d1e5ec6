#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "base/time.h"
#include "control/config.h"
#include "control/events.h"
#include "control/state.h"

namespace berth::control {

// What one step lends to every room. A room is a class that owns what it observes, and nobody else
// changes that; what others may tell it or ask it is its public part.
struct Step {
  Step(Config configuration, Durable restored)
      : config(configuration), state(std::move(restored)) {}

  const Config config;
  State state;  // durable: every change is also a write
  Time now;
  Effects effects;

  void note(NoteKind kind, std::string about, std::string text) {
    effects.notes.push_back({kind, std::move(about), std::move(text)});
  }
  void note(NoteKind kind, const model::NodeId& node, std::string text) {
    note(kind, "node/" + node.value(), std::move(text));
  }
  void note(NoteKind kind, const model::InstanceKey& key, std::string text) {
    note(kind, "instance/" + model::to_string(key), std::move(text));
  }

  // Since 1970.
  Duration date_of(Time time) const {
    return std::max(time.time_since_epoch() + config.date_of_zero, Duration{});
  }
};

}  // namespace berth::control
