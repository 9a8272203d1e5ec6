#pragma once

#include <string>
#include <utility>

#include "agent/events.h"
#include "base/time.h"

namespace berth::agent {

// What one step hands to the parts of the agent: the time, the settings, and where effects go.
struct Context {
  Time now;
  const Config& config;
  Effects& effects;

  void act(Action action) const { effects.actions.push_back(std::move(action)); }
  // About pools: before anything is made durable.
  void act_at_once(Action action) const { effects.at_once.push_back(std::move(action)); }
  void act_for_pool(PoolAction action) const { effects.for_pools.push_back(std::move(action)); }
  void note(const model::InstanceKey& about, std::string what) const {
    effects.notes.push_back({model::to_string(about), std::move(what)});
  }
  void note(std::string what) const { effects.notes.push_back({"", std::move(what)}); }
};

}  // namespace berth::agent
