#include "control/cluster/alerts.h"

#include <algorithm>
#include <utility>

#include "control/cluster/threshold.h"
#include "control/context.h"
#include "control/rollout/handover.h"

namespace berth::control {
namespace {

const model::Item* find_item(const Step& step, const model::ItemKey& key) {
  const auto& items = step.state.durable().items;
  const auto found = items.find(key);
  return found == items.end() ? nullptr : &found->second;
}

bool has_alerts(const model::Item& item) { return item.alerts.cpu || item.alerts.ram; }

void tell(Context& context, const model::InstanceKey& key, NoteKind kind, std::string text) {
  context.note(kind, key, std::move(text));
  context.changes.instances.insert(key);
}

// Nobody compares it any more: it has ended, or its item has another rule.
void forget(Context& context, const model::InstanceKey& key, ResourceAlert& alert,
            const char* name) {
  if (alert.load.is_overloaded()) {
    tell(context, key, NoteKind::AlertEnded, fmt::format("{} is not watched any more", name));
  }
  alert = {};
}

// An instance at its place, and its resources against the rules.
class AlertsOf {
 public:
  AlertsOf(Context& context, const model::InstanceKey& key, InstanceAlerts& alerts)
      : context_(context), key_(key), alerts_(alerts) {}

  // Gives when to look again.
  Time at(const model::Item& item, const model::ReportedStatus& run, bool is_heard) {
    is_heard_ = is_heard;
    return std::min(at(alerts_.cpu, item.alerts.cpu, item.quotas.cpu, run.usage.cpu, "cpu"),
                    at(alerts_.ram, item.alerts.ram, item.quotas.ram, run.usage.ram, "ram"));
  }

  Time at_nothing() {
    forget(context_, key_, alerts_.cpu, "cpu");
    forget(context_, key_, alerts_.ram, "ram");
    return kNever;
  }

 private:
  template <class Q>
  Time at(ResourceAlert& alert, const std::optional<model::ThresholdRule>& rule,
          const std::optional<Q>& quota, Q used, const char* name) {
    if (!rule || !quota || *quota <= Q{}) {
      forget(context_, key_, alert, name);
      return kNever;
    }
    if (!is_heard_) {
      break_off(alert.load, context_.now);
      return kNever;
    }
    Threshold<Q> threshold(alert.load, *rule, used, *quota);
    const Crossing crossing = threshold.look(context_.now);
    if (crossing != Crossing::None) {
      const bool is_raised = crossing == Crossing::IntoOverload;
      alert.text = fmt::format("{} {}", name, threshold.text_of(crossing, " of its quota"));
      tell(context_, key_, is_raised ? NoteKind::AlertRaised : NoteKind::AlertEnded, alert.text);
    }
    return threshold.next_change();
  }

  Context& context_;
  const model::InstanceKey& key_;
  InstanceAlerts& alerts_;
  bool is_heard_ = false;
};

Time look(Context& context, const model::InstanceKey& key, InstanceAlerts& alerts) {
  AlertsOf look(context, key, alerts);
  const auto* record = context.state.find<model::InstanceRecord>(key);
  const auto* run = record == nullptr ? nullptr : run_at_its_place(context, *record);
  if (run == nullptr || !model::is_up(run->state)) return look.at_nothing();
  const model::Item* item = find_item(context, {key.item, run->version});
  if (item == nullptr) return look.at_nothing();
  return look.at(*item, *run, context.find_node(record->place->node)->reachable());
}

}  // namespace

void Alerts::hear(const Step& step, const model::ReportedStatus& status) {
  const model::Item* item = find_item(step, {status.key.item, status.version});
  if (item != nullptr && has_alerts(*item)) marked_.insert(status.key);
}

std::optional<model::Problem> Alerts::problem_of(const model::InstanceKey& key) const {
  const auto found = alerts_.find(key);
  if (found == alerts_.end()) return std::nullopt;
  std::string text;
  for (const ResourceAlert* alert : {&found->second.cpu, &found->second.ram}) {
    if (!alert->load.is_overloaded()) continue;
    text += text.empty() ? "" : "; ";
    text += alert->text;
  }
  if (text.empty()) return std::nullopt;
  return model::Problem{"UsageAlert", std::move(text)};
}

bool Alerts::is_watched(const Step& step, const model::InstanceKey& key) const {
  if (alerts_.contains(key)) return true;
  const auto* record = step.state.find<model::InstanceRecord>(key);
  if (record == nullptr || !record->place) return false;
  const model::Item* item = find_item(step, {key.item, record->version});
  return item != nullptr && has_alerts(*item);
}

void Alerts::compare(Context& context, const model::InstanceKey& key) {
  InstanceAlerts& alerts = alerts_[key];
  const Time next = look(context, key, alerts);
  alarms_.set(key, next == kNever ? std::nullopt : std::optional(next));
  if (alerts.are_quiet()) alerts_.erase(key);
}

void Alerts::decide(Context& context) {
  for (model::InstanceKey& key : alarms_.take_due(context.now)) marked_.insert(std::move(key));
  for (const model::InstanceKey& key : context.changes.instances) {
    if (is_watched(context, key)) marked_.insert(key);
  }
  for (const model::InstanceKey& key : std::exchange(marked_, {})) compare(context, key);
}

}  // namespace berth::control
