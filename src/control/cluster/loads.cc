#include "control/cluster/loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/cluster/settings.h"
#include "control/cluster/threshold.h"

namespace berth::control {
namespace {

constexpr int kAttemptEveryTimeouts = 10;

// Gives when to look again.
template <class Q>
Time look(Step& step, const model::NodeId& id, const ObservedNode& node, ResourceLoad& load,
          const std::optional<model::ThresholdRule>& rule, Q model::Usage::*resource,
          const char* name) {
  const Q capacity = node.info.capacity.*resource;
  if (!rule || capacity <= Q{}) {
    load = {};
    return kNever;
  }
  if (!node.usage || !node.reachable()) {
    break_off(load, step.now);
    return kNever;
  }
  Threshold<Q> threshold(load, *rule, *node.usage.*resource, capacity);
  const Crossing crossing = threshold.look(step.now);
  if (crossing != Crossing::None) {
    const bool is_over = crossing == Crossing::OutOfOverload;
    step.note(is_over ? NoteKind::NodeRelieved : NoteKind::NodeOverloaded, id,
              fmt::format("{} {}", name, threshold.text_of(crossing, "")));
  }
  return threshold.next_change();
}

Duration attempt_every(const Step& step, const NodeLoad& load) {
  Duration timeout = Duration::max() / kAttemptEveryTimeouts;
  const model::Thresholds& rules = *load.thresholds;
  if (load.cpu.is_overloaded()) timeout = std::min(timeout, rules.cpu->timeout);
  if (load.ram.is_overloaded()) timeout = std::min(timeout, rules.ram->timeout);
  // Before the averages tell of anything new, another attempt could only do the same.
  return std::max(timeout * kAttemptEveryTimeouts, step.config.usage_window);
}

}  // namespace

std::string_view to_string(LoadState state) {
  switch (state) {
    case LoadState::Normal: return "normal";
    case LoadState::Above: return "above";
    case LoadState::Overloaded: return "overloaded";
    case LoadState::Below: return "below";
  }
  CHECK(false, "unknown state of a load");
}

void Loads::look_up(const model::NodeId& node) {
  loads_[node].thresholds.reset();
  look_at(node);
}

void Loads::look_up_all(const Nodes& nodes) {
  for (const auto& [id, node] : nodes) look_up(id);
}

void Loads::attempted(const model::NodeId& node, const Attempt& attempt) {
  loads_[node].attempt = attempt;
}

void Loads::forget(const model::NodeId& node) {
  loads_.erase(node);
  marked_.erase(node);
  overloaded_.erase(node);
  alarms_.set(node, std::nullopt);
}

const NodeLoad& Loads::of(const model::NodeId& node) const {
  static const NodeLoad kNone;
  const auto known = loads_.find(node);
  return known == loads_.end() ? kNone : known->second;
}

Time Loads::next_attempt(const Step& step, const model::NodeId& id, const ObservedNode& node,
                         std::uint64_t cluster_changes) const {
  if (!node.reachable() || !node.usage) return kNever;
  const NodeLoad& load = of(id);
  const bool is_another_cluster = !load.attempt || load.attempt->cluster_changes != cluster_changes;
  return is_another_cluster ? step.now : load.attempt->at + attempt_every(step, load);
}

void Loads::compare(Step& step, const model::NodeId& id, const ObservedNode& node) {
  NodeLoad& load = loads_[id];
  const auto [cpu_before, ram_before] =
      std::pair(load.cpu.is_overloaded(), load.ram.is_overloaded());
  if (!load.thresholds) load.thresholds = settings_of(step.state.durable(), id, node).thresholds;
  const model::Thresholds& rules = *load.thresholds;
  const Time cpu = look(step, id, node, load.cpu, rules.cpu, &model::Usage::cpu, "cpu");
  const Time ram = look(step, id, node, load.ram, rules.ram, &model::Usage::ram, "ram");
  const Time next = std::min(cpu, ram);
  alarms_.set(id, next == kNever ? std::nullopt : std::optional(next));
  const bool is_new =
      (load.cpu.is_overloaded() && !cpu_before) || (load.ram.is_overloaded() && !ram_before);
  if (is_new || !load.is_overloaded()) load.attempt.reset();
  if (load.is_overloaded()) {
    overloaded_.insert(id);
  } else {
    overloaded_.erase(id);
  }
}

void Loads::decide(Step& step, const Nodes& nodes) {
  for (const model::NodeId& id : alarms_.take_due(step.now)) look_at(id);
  for (const model::NodeId& id : std::exchange(marked_, {})) {
    const auto node = nodes.find(id);
    if (node != nodes.end()) compare(step, id, node->second);
  }
}

}  // namespace berth::control
