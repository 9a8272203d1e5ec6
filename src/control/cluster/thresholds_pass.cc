#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "control/cluster/settings.h"
#include "control/cluster/thresholds.h"
#include "control/passes.h"
#include "placement/relief_text.h"

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

// One resource of a node, and what is known of its use at this moment.
template <class Q>
class Judge {
 public:
  Judge(const char* resource, ResourceLoad& load, const model::ThresholdRule& rule, Q used,
        Q capacity)
      : resource_(resource), load_(load), rule_(rule), used_(used), capacity_(capacity) {}

  void look(Context& context, const model::NodeId& id) {
    const Time now = context.now;
    if (load_.state == LoadState::Normal && is_above()) become(LoadState::Above, now);
    if (load_.state == LoadState::Above && !is_above()) become(LoadState::Normal, now);
    if (load_.state == LoadState::Above && has_lasted(now)) {
      become(LoadState::Overloaded, now);
      load_.overloaded_since = now;
      context.note(NoteKind::NodeOverloaded, id, text("above", rule_.max));
    }
    if (load_.state == LoadState::Overloaded && is_low()) become(LoadState::Below, now);
    if (load_.state == LoadState::Below && !is_low()) go_back();
    if (load_.state == LoadState::Below && has_lasted(now)) {
      become(LoadState::Normal, now);
      context.note(NoteKind::NodeRelieved, id, text("not above", rule_.min));
    }
  }

  Time next_change() const {
    const bool waits = load_.state == LoadState::Above || load_.state == LoadState::Below;
    return waits ? load_.since + rule_.timeout : kNever;
  }

 private:
  bool is_above() const { return above_percent(used_, capacity_, rule_.max); }
  bool is_low() const { return !above_percent(used_, capacity_, rule_.min); }
  bool has_lasted(Time now) const { return now - load_.since >= rule_.timeout; }

  void become(LoadState state, Time now) {
    load_.state = state;
    load_.since = now;
  }
  void go_back() { become(LoadState::Overloaded, load_.overloaded_since); }

  std::string text(const char* relation, std::uint32_t percent) const {
    return fmt::format("{} {}, {} {} % for {} s", resource_,
                       placement::percent_text(used_.count(), capacity_.count()), relation, percent,
                       std::chrono::duration_cast<std::chrono::seconds>(rule_.timeout).count());
  }

  const char* resource_;
  ResourceLoad& load_;
  const model::ThresholdRule& rule_;
  const Q used_;
  const Q capacity_;
};

// Of a node that says nothing, nothing is learnt: what had lasted is broken off.
void break_off(ResourceLoad& load, Time now) {
  if (load.state == LoadState::Above) load = {LoadState::Normal, now, {}};
  if (load.state == LoadState::Below) {
    load.state = LoadState::Overloaded;
    load.since = load.overloaded_since;
  }
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
  Judge<Q> judge(name, load, *rule, *node.usage.*resource, capacity);
  judge.look(context, id);
  return judge.next_change();
}

void set_alarm(Context& context, const model::NodeId& id, NodeLoad& load, Time at) {
  if (load.alarm == at) return;
  if (load.alarm != kNever) context.load_alarms.erase({load.alarm, id});
  if (at != kNever) context.load_alarms.emplace(at, id);
  load.alarm = at;
}

void update(Context& context, const model::NodeId& id, ObservedNode& node) {
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

void collect_due(Context& context) {
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
  collect_due(context);
  for (const model::NodeId& id : context.dirty.loads) {
    if (ObservedNode* node = context.find_node(id)) update(context, id, *node);
  }
}

}  // namespace berth::control
