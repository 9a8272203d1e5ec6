#include <fmt/format.h>

#include "control/cluster/alarms.h"
#include "control/record_events.h"

namespace berth::control {
namespace {

// Readiness changes often and is observed anew after a restart: it is not written to disk.
model::NodeRecord without_readiness(const model::NodeRecord& known, const model::NodeId& id,
                                    const model::NodeInfo& info) {
  model::NodeRecord record = known;
  record.id = id;
  record.info = info;
  for (model::Runtime& runtime : record.info.runtimes) runtime.ready = model::Readiness::Unknown;
  return record;
}

void take_info(Context& context, const model::NodeId& id, ObservedNode& node,
               const model::NodeInfo& info) {
  const auto& records = context.state.durable().nodes;
  const auto known = records.find(id);
  const bool joined = known == records.end();
  if (joined) context.note(NoteKind::NodeJoined, id, "");
  context.state.put(without_readiness(joined ? model::NodeRecord{} : known->second, id, info));
  if (node.info == info && !joined) return;
  if (info.state == model::NodeState::Error && node.info.state != model::NodeState::Error) {
    context.note(NoteKind::NodeInError, id, "its instances are failed and may move at once");
  }
  node.info = info;
  context.dirty.plan = true;
  mark_all_on(context, id);
}

// A controller whose store was lost must not number its commands below those of its former life.
void keep_ahead_of(Context& context, const model::CommandNumber& acted) {
  model::CounterRecord counters = context.state.durable().counters;
  if (acted <= model::CommandNumber{counters.epoch, counters.revision}) return;
  counters.epoch = acted.epoch;
  counters.revision = acted.number;
  context.state.put(counters);
}

void take_status(Context& context, const model::NodeId& id, ObservedNode& node,
                 const model::ReportedStatus& status) {
  const auto [entry, is_new] = node.reported.try_emplace(status.key);
  if (!is_new && entry->second == status) return;
  node.instance_usage = node.instance_usage - entry->second.usage + status.usage;
  const bool same_run =
      !is_new && entry->second.state == status.state && entry->second.stopping == status.stopping &&
      entry->second.version == status.version && entry->second.runtime == status.runtime;
  entry->second = status;
  context.dirty.statuses.insert(status.key);
  if (same_run) return;
  context.dirty.wanted.emplace(id, status.key);
  if (const auto* record = context.state.find_instance(status.key)) context.mark(*record);
}

void drop_status(Context& context, const model::NodeId& id, ObservedNode& node,
                 const model::InstanceKey& key) {
  const auto known = node.reported.find(key);
  if (known == node.reported.end()) return;
  node.instance_usage = node.instance_usage - known->second.usage;
  node.reported.erase(known);
  context.dirty.statuses.insert(key);
  context.dirty.wanted.emplace(id, key);
  const auto* record = context.state.find_instance(key);
  if (record == nullptr) return;
  context.mark(*record);
  if (record->preinstalled && record->place->node == id) context.erase(key);
}

// What should run, was told so, and is not there although the node has acted, is told again.
void tell_again(Context& context, const model::NodeId& id, ObservedNode& node) {
  if (!node.last_sent || node.acted < *node.last_sent) return;
  std::erase_if(node.told, [&](const auto& entry) {
    if (node.reported.contains(entry.first)) return false;
    context.dirty.wanted.emplace(id, entry.first);
    return true;
  });
}

void take_full(Context& context, const model::NodeId& id, ObservedNode& node,
               const model::Report& report) {
  if (!node.reported_fully) {
    const bool in_step = node.last_sent && report.acted == *node.last_sent;
    if (!in_step) node.needs_full_command = true;
    node.reported_fully = true;
    node.ever_reported = true;
    context.dirty.nodes.insert(id);
    mark_all_on(context, id);
  }
  node.boot_id = report.boot_id;
  node.asked_for_full.reset();
  node.acted = report.acted;
  if (report.node) take_info(context, id, node, *report.node);
  std::set<model::InstanceKey> listed;
  for (const model::ReportedStatus& status : report.instances) {
    listed.insert(status.key);
    take_status(context, id, node, status);
    context.dirty.wanted.emplace(id, status.key);
  }
  std::vector<model::InstanceKey> gone;
  for (const auto& [key, status] : node.reported) {
    if (!listed.contains(key)) gone.push_back(key);
  }
  for (const model::InstanceKey& key : gone) drop_status(context, id, node, key);
  tell_again(context, id, node);
}

void take_partial(Context& context, const model::NodeId& id, ObservedNode& node,
                  const model::Report& report) {
  if (report.node) take_info(context, id, node, *report.node);
  for (const auto& status : report.instances) take_status(context, id, node, status);
  for (const auto& key : report.gone) drop_status(context, id, node, key);
}

// What was told to stop, is acknowledged and no longer listed, has really gone: others may have its
// room.
void confirm_stops(Context& context, const model::NodeId& id, ObservedNode& node) {
  const auto confirmed = std::erase_if(node.stopping, [&](const auto& entry) {
    const auto& [key, number] = entry;
    if (node.acted < number || node.reported.contains(key)) return false;
    context.dirty.wanted.emplace(id, key);
    context.dirty.statuses.insert(key);
    return true;
  });
  if (confirmed == 0) return;
  for (const auto& key : node.held_back) context.dirty.wanted.emplace(id, key);
}

void take_usage(Context& context, ObservedNode& node, const model::Report& report) {
  if (!report.usage || node.usage == report.usage) return;
  node.usage = report.usage;
  if (!context.state.waiting().empty()) context.dirty.plan = true;
}

void ask_for_full(Context& context, const model::NodeId& id, ObservedNode& node) {
  const auto& asked = node.asked_for_full;
  if (asked && context.now - *asked < context.config.heartbeat) return;
  node.asked_for_full = context.now;
  context.dirty.full_reports.insert(id);
  context.note(NoteKind::ReportGap, id, "asked for a full report");
}

enum class Verdict { Full, Next, Known, Stale, Gap };

Verdict judge(const ObservedNode& node, const model::Report& report) {
  if (report.full) return Verdict::Full;
  if (!node.reported_fully) return Verdict::Gap;
  if (report.revision == node.revision) return Verdict::Known;
  if (report.revision < node.revision) return Verdict::Stale;
  const bool is_next = report.revision == node.revision + 1 && !model::is_heartbeat(report);
  return is_next ? Verdict::Next : Verdict::Gap;
}

}  // namespace

void record(Context& context, const NodeReported& event) {
  ObservedNode* node = context.find_node(event.node);
  if (node == nullptr || node->connection != event.connection) return;
  node->last_heard = context.now;
  if (node->liveness != Liveness::Reachable) context.dirty.nodes.insert(event.node);

  const model::Report& report = event.report;
  const Verdict verdict = judge(*node, report);
  if (verdict == Verdict::Gap) return ask_for_full(context, event.node, *node);
  if (verdict == Verdict::Stale) return;
  // A full report that was overtaken by a newer one of this connection tells old news.
  if (verdict == Verdict::Full && node->reported_fully && report.revision < node->revision) return;

  keep_ahead_of(context, report.acted);
  node->revision = report.revision;
  if (verdict == Verdict::Full) take_full(context, event.node, *node, report);
  if (verdict == Verdict::Next) take_partial(context, event.node, *node, report);
  node->acted = std::max(node->acted, report.acted);
  take_usage(context, *node, report);
  confirm_stops(context, event.node, *node);
  const bool behind = node->last_sent && node->acted < *node->last_sent;
  if (behind && context.now - node->sent_at >= context.config.resend_after) {
    context.dirty.resends.insert(event.node);
  }
}

void record(Context& context, const NodeConnected& event) {
  const auto [entry, is_new] = context.nodes.try_emplace(event.node);
  ObservedNode& node = entry->second;
  if (event.connection <= node.newest_connection && !is_new) return;
  if (is_new || node.connection) node.disconnected_at = context.now;
  node.connection = event.connection;
  node.newest_connection = event.connection;
  node.reported_fully = false;
  node.asked_for_full.reset();
  node.last_heard = context.now;
  context.dirty.nodes.insert(event.node);
}

void record(Context& context, const NodeDisconnected& event) {
  ObservedNode* node = context.find_node(event.node);
  if (node == nullptr || node->connection != event.connection) return;
  node->connection.reset();
  node->reported_fully = false;
  node->disconnected_at = context.now;
  context.dirty.nodes.insert(event.node);
}

}  // namespace berth::control
