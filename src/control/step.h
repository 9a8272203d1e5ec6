#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"
#include "control/config.h"
#include "control/events.h"
#include "control/state.h"

namespace berth::control {

// Whether a step goes on with what is asked for and was not placed yet. Who makes its effects
// durable holds it back while it is behind, and lets it go on later.
enum class Pace { GoOn, HeldBack };

// What has happened in a step that several rooms care about. Each has one meaning; it is said by
// those that know, read by those that list it below, and over with the step.
struct Changes {
  // Something about these is not as it was, or may not be: their statuses, moves, rollouts, runs
  // and addresses are looked at.
  std::set<model::InstanceKey> instances;
  // What the node has of the instance, or shall have, may be something else: read by orders,
  // networks and adoption.
  std::set<std::pair<model::NodeId, model::InstanceKey>> on_nodes;
  // Their documents changed, under the same version: read by the launcher, and marks what runs
  // them.
  std::set<model::ItemKey> edited_items;
  bool everything = false;  // a hold has ended: all of the above, of everything
};

// What one step lends to every room. A room is a class that owns what it observes, and nobody else
// changes that; what others may tell it or ask it is its public part.
struct Step {
  Step(Config configuration, Durable restored)
      : config(configuration), state(std::move(restored)) {}

  const Config config;
  State state;  // durable: every change is also a write
  Time now;
  Effects effects;
  Changes changes;

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
