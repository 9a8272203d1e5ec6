#include "agent/reporter.h"

#include <utility>

namespace berth::agent {
namespace {

std::optional<model::Usage> usage_in(const Measured& measured, const model::InstanceKey& key) {
  const auto found = measured.instances.find(key);
  return found == measured.instances.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

void Reporter::connected(std::uint64_t connection) {
  connection_ = connection;
  last_sent_.reset();
  must_be_full_ = true;
}

void Reporter::disconnected(std::uint64_t connection) {
  if (connection_ == connection) connection_.reset();
}

void Reporter::observed(const model::NodeInfo& node) {
  if (node_ == node) return;
  node_ = node;
  node_changed_ = true;
}

void Reporter::measured(const Measured& usage) {
  const std::optional<Measured> before = std::exchange(usage_, usage);
  for (const auto& [key, status] : statuses_) {
    const auto then = before ? usage_in(*before, key) : std::nullopt;
    if (usage_in(usage, key) != then) remeasured_.insert(key);
  }
}

void Reporter::show(const model::InstanceKey& key,
                    const std::optional<model::ReportedStatus>& status) {
  const auto known = statuses_.find(key);
  if (!status) {
    if (known == statuses_.end()) return;
    statuses_.erase(known);
    remeasured_.erase(key);
  } else if (known == statuses_.end()) {
    statuses_.emplace(key, *status);
  } else if (known->second != *status) {
    known->second = *status;
  } else {
    return;
  }
  changed_.insert(key);
}

bool Reporter::is_due(const Context& context) const {
  if (!can_speak()) return false;
  if (must_be_full_ || must_answer_ || has_changes()) return true;
  const auto heartbeat = next(context.config);
  return heartbeat && *heartbeat <= context.now;
}

std::optional<model::Report> Reporter::report(const Context& context,
                                              const model::CommandNumber& acted) {
  std::optional<model::Report> report;
  if (is_due(context)) {
    report.emplace();
    report->boot_id = context.config.boot_id;
    report->acted = acted;
    if (usage_) report->usage = usage_->total;
    changed_.merge(std::exchange(remeasured_, {}));
    if (must_be_full_ || has_changes()) ++revision_;
    report->revision = revision_;
    must_be_full_ ? tell_all(*report) : tell_changes(*report);
    must_be_full_ = false;
    last_sent_ = context.now;
  }
  must_answer_ = false;
  node_changed_ = false;
  changed_.clear();
  return report;
}

void Reporter::tell_all(model::Report& report) const {
  report.full = true;
  report.node = node_;
  report.instances.reserve(statuses_.size());
  for (const auto& [key, status] : statuses_) report.instances.push_back(measured_status(status));
}

void Reporter::tell_changes(model::Report& report) const {
  if (node_changed_) report.node = node_;
  for (const model::InstanceKey& key : changed_) {
    const auto known = statuses_.find(key);
    if (known == statuses_.end()) {
      report.gone.push_back(key);
    } else {
      report.instances.push_back(measured_status(known->second));
    }
  }
}

model::ReportedStatus Reporter::measured_status(const model::ReportedStatus& status) const {
  model::ReportedStatus measured = status;
  if (usage_) measured.usage = usage_in(*usage_, status.key).value_or(model::Usage{});
  return measured;
}

std::optional<Time> Reporter::next(const Config& config) const {
  if (!connection_ || !last_sent_) return std::nullopt;
  return *last_sent_ + config.heartbeat;
}

}  // namespace berth::agent
