#include "agent/reporter.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "agent/moved.h"
#include "base/alarms.h"

namespace berth::agent {
namespace {

using agent::has_moved;

constexpr std::int64_t kDiskFlicker = 64 << 10;
constexpr std::int64_t kPartitionFlicker = 16 << 20;
constexpr std::int64_t kTrafficFlicker = 1 << 10;

bool has_moved(const model::Traffic& told, const model::Traffic& now) {
  return has_moved(told.received, now.received, kTrafficFlicker) ||
         has_moved(told.sent, now.sent, kTrafficFlicker);
}

bool has_moved(const model::Footprint& told, const model::Footprint& now) {
  return has_moved(told.storage.count(), now.storage.count(), kDiskFlicker) ||
         has_moved(told.state.count(), now.state.count(), kDiskFlicker) ||
         has_moved(told.traffic, now.traffic);
}

bool has_moved(const model::NodeMeasurement& told, const model::NodeMeasurement& now) {
  if (told.partitions.size() != now.partitions.size()) return true;
  for (std::size_t i = 0; i < now.partitions.size(); ++i) {
    const model::PartitionUsage& was = told.partitions[i];
    const model::PartitionUsage& is = now.partitions[i];
    if (was.name != is.name || was.size != is.size) return true;
    if (has_moved(was.used.count(), is.used.count(), kPartitionFlicker)) return true;
  }
  return has_moved(told.traffic, now.traffic);
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

void Reporter::observed_store(Time now, const std::string& problem) {
  store_problem_ = problem;
  if (node_) observed(now, model::NodeInfo(*node_));
}

void Reporter::observed(Time now, const model::NodeInfo& seen) {
  model::NodeInfo node = seen;
  node.store_problem = store_problem_;
  if (node_ == node) return;
  node_ = node;
  node_changed_ = true;
  std::map<model::RuntimeId, Time> not_ready;
  for (const model::Runtime& runtime : node.runtimes) {
    if (runtime.ready == model::Readiness::Ready) continue;
    const auto before = not_ready_since_.find(runtime.id);
    not_ready.emplace(runtime.id, before == not_ready_since_.end() ? now : before->second);
  }
  not_ready_since_ = std::move(not_ready);
}

void Reporter::measured(const Measured& usage) {
  usage_ = usage;
  moved_.clear();
  for (const auto& [key, status] : statuses_) {
    const Figures now = figures_of(key);
    const Figures& told = told_[key];
    const bool matters =
        has_moved(told.usage, now.usage) || has_moved(told.footprint, now.footprint);
    if (matters) moved_.insert(key);
  }
}

Reporter::Figures Reporter::figures_of(const model::InstanceKey& key) const {
  Figures figures;
  const auto usage = usage_->instances.find(key);
  if (usage != usage_->instances.end()) figures.usage = usage->second;
  const auto footprint = usage_->footprints.find(key);
  if (footprint != usage_->footprints.end()) figures.footprint = footprint->second;
  return figures;
}

void Reporter::show(const model::InstanceKey& key,
                    const std::optional<model::ReportedStatus>& status) {
  const auto known = statuses_.find(key);
  if (!status) {
    if (known == statuses_.end()) return;
    statuses_.erase(known);
    told_.erase(key);
    moved_.erase(key);
  } else if (known == statuses_.end()) {
    statuses_.emplace(key, *status);
  } else if (known->second != *status) {
    known->second = *status;
  } else {
    return;
  }
  changed_.insert(key);
}

bool Reporter::is_due(const Context& context, const States& states, const Pool& pool) const {
  if (!can_speak()) return false;
  if (must_be_full_ || must_answer_ || has_changes() || pool.has_news()) return true;
  const auto time = next(context.config, states);
  return time && *time <= context.now;
}

std::optional<model::Report> Reporter::report(const Context& context, const Wanted& wanted,
                                              States& states, Pool& pool) {
  std::optional<model::Report> report;
  if (is_due(context, states, pool)) {
    report.emplace();
    report->boot_id = context.config.boot_id;
    report->acted = wanted.acted();
    if (usage_) report->usage = usage_->total;
    report->states =
        states.take(context, must_be_full_ ? States::For::FullReport : States::For::Changes);
    changed_.merge(std::exchange(moved_, {}));
    if (must_be_full_) {
      report->pool = pool.take_all(context.now);
    } else if (pool.has_news()) {
      report->pool = pool.take_news();
    }
    if (must_be_full_ || has_changes() || !report->states.empty() || report->pool) ++revision_;
    report->revision = revision_;
    if (must_be_full_ || node_changed_) tell_node(*report, context.now);
    must_be_full_ ? tell_all(*report, wanted) : tell_changes(*report);
    if (report->measurement) told_of_node_ = *report->measurement;
    must_be_full_ = false;
    last_sent_ = context.now;
  }
  must_answer_ = false;
  node_changed_ = false;
  changed_.clear();
  return report;
}

void Reporter::tell_all(model::Report& report, const Wanted& wanted) {
  report.full = true;
  report.receipt = wanted.receipt();
  if (std::exchange(must_have_orders_, false)) report.told = wanted.told();
  if (usage_) report.measurement = usage_->node;
  report.instances.reserve(statuses_.size());
  for (const auto& [key, status] : statuses_) report.instances.push_back(measured_status(status));
}

void Reporter::tell_node(model::Report& report, Time now) const {
  report.node = node_;
  for (const auto& [runtime, since] : not_ready_since_) {
    report.not_ready_for.emplace(runtime, now - since);
  }
}

void Reporter::tell_changes(model::Report& report) {
  if (usage_ && usage_->node && has_moved(told_of_node_, *usage_->node)) {
    report.measurement = usage_->node;
  }
  for (const model::InstanceKey& key : changed_) {
    const auto known = statuses_.find(key);
    if (known == statuses_.end()) {
      report.gone.push_back(key);
    } else {
      report.instances.push_back(measured_status(known->second));
    }
  }
}

model::ReportedStatus Reporter::measured_status(const model::ReportedStatus& status) {
  model::ReportedStatus measured = status;
  if (!usage_) return measured;
  const Figures figures = figures_of(status.key);
  told_.insert_or_assign(status.key, figures);
  measured.usage = figures.usage;
  measured.footprint = figures.footprint;
  return measured;
}

std::optional<Time> Reporter::next(const Config& config, const States& states) const {
  if (!connection_ || !last_sent_) return std::nullopt;
  std::optional<Time> time = *last_sent_ + config.heartbeat;
  take_earlier(time, states.next());
  return time;
}

}  // namespace berth::agent
