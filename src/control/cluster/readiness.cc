#include "control/cluster/readiness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "control/cluster/settings.h"
#include "control/context.h"

namespace berth::control {
namespace {

using model::ConditionStatus;
using model::ConditionType;
using model::Readiness;

// What was in a future that has not come yet, by a clock that was wrong, was just now.
Time time_of(const Step& step, Duration date) {
  return std::min(Time(date - step.config.date_of_zero), step.now);
}

// When not being ready begins to count. Before a runtime was ever ready there is no grace.
Time end_of_grace(const RuntimeReadiness& known, const model::Runtime& runtime) {
  return known.has_been_ready ? known.not_ready_since + bounded(runtime.grace)
                              : known.not_ready_since;
}

Readiness graced(Time now, const RuntimeReadiness& known, const model::Runtime& runtime) {
  return now >= end_of_grace(known, runtime) ? runtime.ready : Readiness::Ready;
}

void mark_statuses_on(Context& context, const model::Place& place) {
  for (const model::InstanceKey& key : context.state.instances_on(place.node)) {
    const auto* record = context.state.find<model::InstanceRecord>(key);
    const bool serves_there = record->leaving && record->leaving->place == place;
    if (record->place == place || serves_there) context.changes.instances.insert(key);
  }
}

// What one reachable node says of its runtimes, against the clocks.
class ReadinessOf {
 public:
  ReadinessOf(Context& context, const model::NodeId& id, ObservedNode& node)
      : context_(context), id_(id), node_(node) {}

  // When the clocks may say something else.
  std::optional<Time> take() {
    for (const model::Runtime& runtime : node_.info.runtimes) take(runtime);
    return next_;
  }

 private:
  void take(const model::Runtime& runtime) {
    RuntimeReadiness& known = node_.readiness.runtimes[runtime.id];
    const Readiness now =
        runtime.ready == Readiness::Ready ? Readiness::Ready : graced(context_.now, known, runtime);
    if (known.graced != now) {
      // One way of not being ready after another is no news for those that run there.
      const bool is_turn = known.graced == Readiness::Ready || now == Readiness::Ready;
      if (is_turn) known.graced_since = context_.now;
      known.graced = now;
      mark_statuses_on(context_, {id_, runtime.id});
    }
    if (runtime.ready != Readiness::Ready && now == Readiness::Ready) {
      take_earlier(next_, end_of_grace(known, runtime));
    }
    look_at_eviction(known);
  }

  void look_at_eviction(RuntimeReadiness& known) {
    const bool was_evicting = std::exchange(known.evicting, false);
    if (known.graced != Readiness::Ready) {
      if (const auto after = settings_of(context_.state.durable(), id_, node_).evict_after) {
        const Time at = known.graced_since + bounded(*after);
        known.evicting = context_.now >= at;
        if (!known.evicting) take_earlier(next_, at);
      }
    }
    if (known.evicting != was_evicting) context_.launcher.plan_anew();
  }

  Context& context_;
  const model::NodeId& id_;
  ObservedNode& node_;
  std::optional<Time> next_;
};

// --- Conditions ----------------------------------------------------------------------------------

struct Finding {
  ConditionStatus status = ConditionStatus::Unknown;
  std::string reason;
  std::string message;
};

std::string text_of(const model::Runtime& runtime, Readiness readiness) {
  std::string text = fmt::format("{} is {}", runtime.id.value(), model::to_string(readiness));
  if (!runtime.reason.empty()) text += fmt::format(" ({})", runtime.reason);
  if (!runtime.message.empty()) text += ": " + runtime.message;
  return text;
}

Readiness graced_of(const ObservedNode& node, const model::Runtime& runtime) {
  const auto known = node.readiness.runtimes.find(runtime.id);
  return known == node.readiness.runtimes.end() ? Readiness::Unknown : known->second.graced;
}

Finding judge_node(const ObservedNode& node) {
  const model::Runtime* primary =
      model::primary_runtime(node.info, node.readiness.have_been_ready());
  if (primary == nullptr) {
    return {ConditionStatus::False, "NoRuntime", "the node has no runtime"};
  }
  const Readiness readiness = graced_of(node, *primary);
  if (readiness == Readiness::Ready) {
    return {ConditionStatus::True, "PrimaryRuntimeReady", primary->id.value() + " is ready"};
  }
  const bool is_known = readiness == Readiness::NotReady;
  return {model::status_of(readiness),
          is_known ? "PrimaryRuntimeNotReady" : "PrimaryRuntimeUnknown",
          text_of(*primary, readiness)};
}

// True if one is ready, else False if one is known not to be; nullopt if there is none.
std::optional<Finding> judge_kind(const ObservedNode& node, model::RuntimeKind kind) {
  bool is_any = false;
  bool is_any_ready = false;
  bool is_any_not_ready = false;
  std::vector<std::string> failed;
  for (const model::Runtime& runtime : node.info.runtimes) {
    if (model::kind_of(runtime.type) != kind) continue;
    is_any = true;
    const Readiness readiness = graced_of(node, runtime);
    is_any_ready |= readiness == Readiness::Ready;
    is_any_not_ready |= readiness == Readiness::NotReady;
    if (readiness != Readiness::Ready) failed.push_back(text_of(runtime, readiness));
  }
  if (!is_any) return std::nullopt;
  const std::string message = fmt::format("{}", fmt::join(failed, "; "));
  if (is_any_ready) return Finding{ConditionStatus::True, "RuntimeReady", message};
  if (is_any_not_ready) return Finding{ConditionStatus::False, "RuntimeNotReady", message};
  return Finding{ConditionStatus::Unknown, "RuntimeUnknown", message};
}

// A node that is not heard of may be in any state.
Finding unless_silent(const ObservedNode& node, Finding finding) {
  if (node.reachable()) return finding;
  return {ConditionStatus::Unknown, "NodeUnreachable", "the node is not heard of"};
}

std::vector<std::pair<ConditionType, Finding>> judge(const ObservedNode& node) {
  std::vector<std::pair<ConditionType, Finding>> found;
  found.emplace_back(ConditionType::Ready, unless_silent(node, judge_node(node)));
  for (const auto& [kind, name] : model::Names<model::RuntimeKind>::kTable) {
    if (auto finding = judge_kind(node, kind)) {
      found.emplace_back(model::condition_of(kind), unless_silent(node, std::move(*finding)));
    }
  }
  return found;
}

const Condition* find(const std::vector<Condition>& conditions, ConditionType type) {
  const auto found = std::ranges::find(conditions, type, &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

// That all is well from the beginning is no news.
bool is_news(const Condition* before, const Condition& now) {
  return before == nullptr ? now.status != ConditionStatus::True : before->status != now.status;
}

// Those that changed alike are named together: a node that falls silent is one piece of news.
std::string text_of(const std::vector<const Condition*>& news) {
  std::string text;
  for (auto first = news.begin(); first != news.end();) {
    const Condition& one = **first;
    std::vector<std::string_view> types;
    for (; first != news.end() && (*first)->status == one.status &&
           (*first)->reason == one.reason && (*first)->message == one.message;
         ++first) {
      types.push_back(model::to_string((*first)->type));
    }
    text += fmt::format("{}{} {} {} ({})", text.empty() ? "" : "; ", fmt::join(types, ", "),
                        types.size() == 1 ? "is" : "are", model::to_string(one.status), one.reason);
    if (!one.message.empty()) text += ": " + one.message;
  }
  return text;
}

void update_conditions(Step& step, const model::NodeId& id, ObservedNode& node) {
  const std::vector<Condition> before = std::exchange(node.readiness.conditions, {});
  std::vector<const Condition*> news;
  auto findings = judge(node);
  node.readiness.conditions.reserve(findings.size());
  for (auto& [type, finding] : findings) {
    const Condition* known = find(before, type);
    const bool is_same = known != nullptr && known->status == finding.status;
    Condition condition{type, finding.status, std::move(finding.reason), std::move(finding.message),
                        is_same ? known->changed : step.now};
    const bool is_new = is_news(known, condition);
    node.readiness.conditions.push_back(std::move(condition));
    if (is_new) news.push_back(&node.readiness.conditions.back());
  }
  if (!news.empty()) step.note(NoteKind::ConditionChanged, id, text_of(news));
}

// --- What is kept --------------------------------------------------------------------------------

void keep(Step& step, model::NodeRecord record, const ObservedNode& node) {
  record.conditions.clear();
  for (const Condition& condition : node.readiness.conditions) {
    record.conditions.push_back(
        {condition.type, condition.status, step.date_of(condition.changed)});
  }
  record.readiness.clear();
  for (const auto& [id, known] : node.readiness.runtimes) {
    record.readiness.push_back(
        {id, known.graced, step.date_of(known.graced_since), known.has_been_ready});
  }
  step.state.put(record);
}

void forget_what_is_gone(ObservedNode& node) {
  std::erase_if(node.readiness.runtimes, [&](const auto& entry) {
    return model::find_runtime(node.info, entry.first) == nullptr;
  });
}

// Before its first word after a start of the controller, what was known of it holds. Gives when to
// look again.
std::optional<Time> update_readiness(Context& context, const model::NodeId& id,
                                     const model::NodeRecord& record, ObservedNode& node) {
  const bool was_ready = node.readiness.is_ready();
  std::optional<Time> next;
  if (node.reachable()) {
    forget_what_is_gone(node);
    next = ReadinessOf(context, id, node).take();
  }
  update_conditions(context, id, node);
  keep(context, record, node);
  if (node.readiness.is_ready() != was_ready) {
    context.launcher.cluster_changed();
  }
  return next;
}

Time said_since(const Step& step, const model::Report& report, const model::RuntimeId& runtime) {
  const auto told = report.not_ready_for.find(runtime);
  return step.now - (told == report.not_ready_for.end() ? Duration{} : bounded(told->second));
}

// The agent knows best. But on one connection nothing is missed, and what is told again comes with
// another delay; and of what was before its own start it knows nothing.
Time not_ready_since(const Step& step, const ObservedNode& node, const model::Report& report,
                     const model::RuntimeId& runtime) {
  const Time since = said_since(step, report, runtime);
  const RuntimeReadiness& known = node.readiness.runtimes.at(runtime);
  if (!node.ever_reported) {
    return known.graced == Readiness::Ready ? since : std::min(known.not_ready_since, since);
  }
  const model::Runtime* before = model::find_runtime(node.info, runtime);
  if (before == nullptr || before->ready == Readiness::Ready) return since;
  const bool may_have_missed = !node.reported_fully && node.boot_id == report.boot_id;
  return may_have_missed ? since : known.not_ready_since;
}

}  // namespace

bool NodeReadiness::is_ready() const {
  const Condition* ready = find(conditions, ConditionType::Ready);
  return ready != nullptr && ready->status == ConditionStatus::True;
}

bool NodeReadiness::is_ready(const model::RuntimeId& runtime) const {
  const auto known = runtimes.find(runtime);
  return known != runtimes.end() && known->second.graced == Readiness::Ready;
}

std::set<model::RuntimeId> NodeReadiness::have_been_ready() const {
  std::set<model::RuntimeId> ready;
  for (const auto& [id, known] : runtimes) {
    if (known.has_been_ready) ready.insert(id);
  }
  return ready;
}

void ReadinessRoom::restore(const Step& step, const model::NodeRecord& record,
                            ObservedNode& node) const {
  NodeReadiness& readiness = node.readiness;
  for (const model::KeptReadiness& kept : record.readiness) {
    const Time changed = time_of(step, kept.changed_at);
    // Nothing is decided by a date: how long it has not been ready is counted from now, or from
    // when its agent says.
    const Time counted = kept.graced == Readiness::Ready ? changed : step.now;
    readiness.runtimes.emplace(kept.runtime, RuntimeReadiness{.graced = kept.graced,
                                                              .graced_since = counted,
                                                              .has_been_ready = kept.has_been_ready,
                                                              .not_ready_since = changed});
  }
  for (const model::KeptCondition& kept : record.conditions) {
    readiness.conditions.push_back({kept.type, kept.status, "NotHeardYet",
                                    "as it was before the control plane was started",
                                    time_of(step, kept.changed_at)});
  }
}

void ReadinessRoom::hear(Context& context, const model::NodeId& id, ObservedNode& node,
                         const model::Report& report) {
  look_at(id);
  for (const model::Runtime& runtime : report.node->runtimes) {
    const auto [at, is_new] = node.readiness.runtimes.try_emplace(runtime.id);
    RuntimeReadiness& known = at->second;
    if (is_new) known.not_ready_since = known.graced_since = context.now;
    if (runtime.ready == Readiness::Ready) {
      known.has_been_ready = true;
    } else {
      const Time since = not_ready_since(context, node, report, runtime.id);
      if (since != known.not_ready_since) context.launcher.words_changed();
      known.not_ready_since = since;
      // By its own clock, which cannot jump as dates can.
      const Time graced_since = said_since(context, report, runtime.id) + bounded(runtime.grace);
      if (!is_new && !node.ever_reported) {
        known.graced_since = std::min(known.graced_since, graced_since);
      }
    }
  }
}

void ReadinessRoom::look_at_all(const std::map<model::NodeId, ObservedNode>& nodes) {
  for (const auto& [id, node] : nodes) look_at(id);
}

void ReadinessRoom::forget(const model::NodeId& node) {
  marked_.erase(node);
  alarms_.set(node, std::nullopt);
}

void ReadinessRoom::decide(Context& context) {
  for (const model::NodeId& id : alarms_.take_due(context.now)) look_at(id);
  for (const model::NodeId& id : std::exchange(marked_, {})) {
    ObservedNode* node = context.find_node(id);
    const auto* record = context.state.find<model::NodeRecord>(id);
    if (node == nullptr || record == nullptr || node->liveness == Liveness::Unknown) continue;
    alarms_.set(id, update_readiness(context, id, *record, *node));
  }
}

}  // namespace berth::control
