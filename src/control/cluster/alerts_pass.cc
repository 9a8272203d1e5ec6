#include <algorithm>

#include "control/cluster/alerts.h"
#include "control/cluster/threshold.h"
#include "control/launcher/handover.h"
#include "control/passes.h"

// Alerts of items: an instance that uses too much of its quota for too long is reported. They
// decide nothing.
namespace berth::control {
namespace {

const model::Item* find_item(const Context& context, const model::ItemKey& key) {
  const auto& items = context.state.durable().items;
  const auto found = items.find(key);
  return found == items.end() ? nullptr : &found->second;
}

bool has_alerts(const model::Item& item) { return item.alerts.cpu || item.alerts.ram; }

bool is_watched(const Context& context, const model::InstanceKey& key) {
  if (context.alerts.contains(key)) return true;
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr || !record->place) return false;
  const model::Item* item = find_item(context, {key.item, record->version});
  return item != nullptr && has_alerts(*item);
}

void tell(Context& context, const model::InstanceKey& key, NoteKind kind, std::string text) {
  context.note(kind, key, std::move(text));
  context.dirty.statuses.insert(key);
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

void update_alerts(Context& context, const model::InstanceKey& key) {
  InstanceAlerts& alerts = context.alerts[key];
  const Time next = look(context, key, alerts);
  context.alert_alarms.set(key, next == kNever ? std::nullopt : std::optional(next));
  if (alerts.are_quiet()) context.alerts.erase(key);
}

}  // namespace

void hear_usage(Context& context, const model::ReportedStatus& status) {
  const model::Item* item = find_item(context, {status.key.item, status.version});
  if (item != nullptr && has_alerts(*item)) context.dirty.alerts.insert(status.key);
}

std::optional<model::Problem> alert_of(const Context& context, const model::InstanceKey& key) {
  const auto found = context.alerts.find(key);
  if (found == context.alerts.end()) return std::nullopt;
  std::string text;
  for (const ResourceAlert* alert : {&found->second.cpu, &found->second.ram}) {
    if (!alert->load.is_overloaded()) continue;
    text += text.empty() ? "" : "; ";
    text += alert->text;
  }
  if (text.empty()) return std::nullopt;
  return model::Problem{"UsageAlert", std::move(text)};
}

void alerts_pass(Context& context) {
  auto& dirty = context.dirty.alerts;
  for (model::InstanceKey& key : context.alert_alarms.take_due(context.now)) {
    dirty.insert(std::move(key));
  }
  for (const model::InstanceKey& key : context.dirty.statuses) {
    if (is_watched(context, key)) dirty.insert(key);
  }
  for (const model::InstanceKey& key : dirty) update_alerts(context, key);
}

}  // namespace berth::control
