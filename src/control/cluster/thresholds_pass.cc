#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "control/cluster/settings.h"
#include "control/cluster/threshold.h"
#include "control/cluster/thresholds.h"
#include "control/passes.h"

namespace berth::control {
namespace {

constexpr int kAttemptEveryTimeouts = 10;

const model::Thresholds& thresholds_of(Context& context, const model::NodeId& id,
                                       ObservedNode& node) {
  auto& known = node.load.thresholds;
  if (known) return *known;
  known = settings_of(context, id, node).thresholds;
  return *known;
}

// Gives when to look again.
template <class Q>
Time look(Context& context, const model::NodeId& id, const ObservedNode& node, ResourceLoad& load,
          const std::optional<model::ThresholdRule>& rule, Q model::Usage::*resource,
          const char* name) {
  const Q capacity = node.info.capacity.*resource;
  if (!rule || capacity <= Q{}) {
    load = {};
    return kNever;
  }
  if (!node.usage || !node.reachable()) {
    break_off(load, context.now);
    return kNever;
  }
  Threshold<Q> threshold(load, *rule, *node.usage.*resource, capacity);
  const Crossing crossing = threshold.look(context.now);
  if (crossing != Crossing::None) {
    const bool is_over = crossing == Crossing::OutOfOverload;
    context.note(is_over ? NoteKind::NodeRelieved : NoteKind::NodeOverloaded, id,
                 fmt::format("{} {}", name, threshold.text_of(crossing, "")));
  }
  return threshold.next_change();
}

void set_alarm(Context& context, const model::NodeId& id, NodeLoad& load, Time at) {
  if (load.alarm == at) return;
  if (load.alarm != kNever) context.load_alarms.erase({load.alarm, id});
  if (at != kNever) context.load_alarms.emplace(at, id);
  load.alarm = at;
}

void update_thresholds(Context& context, const model::NodeId& id, ObservedNode& node) {
  NodeLoad& load = node.load;
  const auto [cpu_before, ram_before] =
      std::pair(load.cpu.is_overloaded(), load.ram.is_overloaded());
  const model::Thresholds& rules = thresholds_of(context, id, node);
  const Time cpu = look(context, id, node, load.cpu, rules.cpu, &model::Usage::cpu, "cpu");
  const Time ram = look(context, id, node, load.ram, rules.ram, &model::Usage::ram, "ram");
  set_alarm(context, id, load, std::min(cpu, ram));
  const bool is_new =
      (load.cpu.is_overloaded() && !cpu_before) || (load.ram.is_overloaded() && !ram_before);
  if (is_new || !load.is_overloaded()) load.attempt.reset();
  if (load.is_overloaded()) {
    context.overloaded.insert(id);
  } else {
    context.overloaded.erase(id);
  }
}

void collect_due_thresholds(Context& context) {
  auto& alarms = context.load_alarms;
  for (auto it = alarms.begin(); it != alarms.end() && it->first <= context.now; ++it) {
    context.dirty.loads.insert(it->second);
  }
}

Duration attempt_every(const Context& context, const ObservedNode& node) {
  Duration timeout = Duration::max() / kAttemptEveryTimeouts;
  const model::Thresholds& rules = *node.load.thresholds;
  if (node.load.cpu.is_overloaded()) timeout = std::min(timeout, rules.cpu->timeout);
  if (node.load.ram.is_overloaded()) timeout = std::min(timeout, rules.ram->timeout);
  // Before the averages tell of anything new, another attempt could only do the same.
  return std::max(timeout * kAttemptEveryTimeouts, context.config.usage_window);
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

void forget_thresholds(Context& context) {
  for (auto& [id, node] : context.nodes) {
    node.load.thresholds.reset();
    context.dirty.loads.insert(id);
  }
}

void forget_load(Context& context, const model::NodeId& id, ObservedNode& node) {
  set_alarm(context, id, node.load, kNever);
  context.overloaded.erase(id);
}

Time next_attempt(const Context& context, const ObservedNode& node) {
  if (!node.reachable() || !node.usage) return kNever;
  const auto& attempt = node.load.attempt;
  if (!attempt || attempt->cluster_changes != context.cluster_changes) return context.now;
  return attempt->at + attempt_every(context, node);
}

void thresholds_pass(Context& context) {
  collect_due_thresholds(context);
  for (const model::NodeId& id : context.dirty.loads) {
    if (ObservedNode* node = context.find_node(id)) update_thresholds(context, id, *node);
  }
}

}  // namespace berth::control
