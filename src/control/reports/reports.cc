#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "control/cluster/readiness.h"
#include "control/context.h"
#include "control/hold/hold.h"
#include "control/record_events.h"
#include "control/rollout/handover.h"
#include "control/rollout/states.h"

namespace berth::control {
namespace {

// What runtimes say changes often and is observed anew after a restart, as is what its agent says
// of its store: that is not written to disk.
model::NodeRecord without_readiness(const model::NodeRecord& known, const model::NodeId& id,
                                    const model::NodeInfo& info) {
  model::NodeRecord record = known;
  record.id = id;
  record.info = info;
  record.info.store_problem.clear();
  for (model::Runtime& runtime : record.info.runtimes) {
    runtime.ready = model::Readiness::Unknown;
    runtime.reason.clear();
    runtime.message.clear();
  }
  return record;
}

// What is for people only decides nothing.
bool differs_in_words_only(const model::NodeInfo& before, model::NodeInfo after) {
  if (before.runtimes.size() != after.runtimes.size()) return false;
  for (std::size_t i = 0; i < after.runtimes.size(); ++i) {
    after.runtimes[i].reason = before.runtimes[i].reason;
    after.runtimes[i].message = before.runtimes[i].message;
  }
  after.remarks = before.remarks;
  const bool can_write = before.store_problem.empty();
  if (can_write == after.store_problem.empty()) after.store_problem = before.store_problem;
  return before == after;
}

// What an instance uses changes all the time, and decides nothing about the instance itself.
bool is_same_but_measured(const model::ReportedStatus& before, model::ReportedStatus after) {
  after.usage = before.usage;
  after.footprint = before.footprint;
  return before == after;
}

// What one report says of its node.
class Intake {
 public:
  Intake(Context& context, const model::NodeId& id, ObservedNode& node, const model::Report& report)
      : context_(context), id_(id), node_(node), report_(report) {}

  void take_full() {
    context_.readiness.hear(context_, id_, node_, report_);
    if (!node_.reported_fully) begin_connection();
    node_.boot_id = report_.boot_id;
    node_.in_doubt = report_.in_doubt;
    node_.untold_runtimes = report_.untold_runtimes;
    if (report_.untold_runtimes.empty()) context_.reachability.has_told_all(id_);
    node_.asked_for_full.reset();
    take_acted();
    take_info();
    for (const model::ReportedStatus& status : report_.instances) {
      take_status(status);
      // What it runs of its own accord may have to be stopped, or adopted by now.
      if (!node_.orders->run.contains(status.key)) mark(status.key);
    }
    const std::vector<model::InstanceKey> gone = not_listed();
    take_states(gone);
    if (report_.told && is_held(context_)) node_.orders_shown = report_.told;
    for (const model::InstanceKey& key : gone) drop_status(key);
    confirm_stops();
    tell_again();
  }

  void take_partial() {
    take_acted();
    if (report_.node) {
      context_.readiness.hear(context_, id_, node_, report_);
      take_info();
    }
    for (const model::ReportedStatus& status : report_.instances) take_status(status);
    take_states(report_.gone);
    for (const model::InstanceKey& key : report_.gone) drop_status(key);
  }

  void take_acted() {
    node_.acted = std::max(node_.acted, report_.acted);
    acted_on_ = Orders::take_acted(node_);
    for (const model::InstanceKey& key : acted_on_) {
      context_.changes.instances.insert(key);
      confirm_stop(key);
    }
  }

  // After all that is listed: what is being erased may be listed for the first time.
  void confirm_erasures() {
    for (const model::InstanceKey& key : acted_on_) confirm_erased(key);
  }

  // A full report is the whole truth: what was measured before a reboot is over.
  void take_usage() {
    if (report_.usage || report_.full) node_.usage = report_.usage;
    if (report_.measurement) node_.measurement = *report_.measurement;
  }

 private:
  void mark(const model::InstanceKey& key) { context_.changes.on_nodes.emplace(id_, key); }

  bool is_listed_up(const model::InstanceKey& key) const {
    return std::ranges::any_of(report_.instances, [&](const model::ReportedStatus& status) {
      return status.key == key && model::is_up(status.state);
    });
  }

  // Before anything counts as gone: who waits for the end of an instance gets its last state.
  void take_states(std::span<const model::InstanceKey> gone) {
    for (const model::SavedState& state : report_.states) {
      went_back_ && !is_listed_up(state.key) ? context_.orders.state_heard(id_, node_, state)
                                             : hear_state(context_, id_, state, gone);
    }
  }

  // A disk that has lost what it acknowledged brings back the last words of long ago.
  void begin_connection() {
    went_back_ =
        report_.acted < node_.acted && report_.acted != model::CommandNumber{} && !report_.in_doubt;
    node_.acted = report_.acted;
    // Of what it was told nothing is left, but what its instances have stored is.
    const bool is_empty = report_.acted == model::CommandNumber{} && !report_.in_doubt;
    if (is_empty) forget_states_on(context_, id_);
    // Else it has what it was told, and what it says of itself is compared below.
    const bool in_step = Orders::is_in_step(node_, report_.acted) && !report_.in_doubt;
    if (!in_step) forget_orders();
    node_.reported_fully = true;
    node_.ever_reported = true;
    context_.reachability.has_reported(id_);
    context_.orders.look_at(id_);  // it can be told again
  }

  // What it was told is not what it has: only a full command can set that right.
  void forget_orders() {
    context_.mark_all_on(id_);
    Orders::forget_given(node_);
  }

  void take_info() {
    const model::NodeInfo& info = *report_.node;
    const auto& records = context_.state.durable().nodes;
    const auto known = records.find(id_);
    const bool joined = known == records.end();
    if (joined) context_.note(NoteKind::NodeJoined, id_, "");
    context_.state.put(without_readiness(joined ? model::NodeRecord{} : known->second, id_, info));
    if (node_.info.runtimes != info.runtimes) context_.effects.readiness_of.push_back(id_);
    if (!joined && differs_in_words_only(node_.info, info)) return take_words(info);
    if (info.state == model::NodeState::Error && node_.info.state != model::NodeState::Error) {
      context_.note(NoteKind::NodeInError, id_,
                    "its instances are failed, and go elsewhere when it has stopped them");
    }
    note_store(info);
    node_.info = info;
    context_.network.look_at(id_);
    context_.loads.look_up(id_);  // its type may be another
    context_.launcher.cluster_changed();
    context_.mark_all_on(id_);
  }

  // Its runtimes stay where they are: the standing plan points to them.
  void take_words(const model::NodeInfo& info) {
    std::vector<model::Runtime> runtimes = std::move(node_.info.runtimes);
    std::ranges::copy(info.runtimes, runtimes.begin());
    node_.info = info;
    node_.info.runtimes = std::move(runtimes);
  }

  void note_store(const model::NodeInfo& info) {
    const std::string& problem = info.store_problem;
    if (problem.empty() == node_.info.store_problem.empty()) return;
    if (problem.empty())
      return context_.note(NoteKind::NodeWritable, id_, "it takes new instances");
    context_.note(NoteKind::NodeReadOnly, id_,
                  fmt::format("what runs goes on, nothing new is placed there: {}", problem));
  }

  void take_status(const model::ReportedStatus& status) {
    const auto [entry, is_new] = node_.reported.try_emplace(status.key);
    if (!is_new && entry->second == status) return;
    context_.alerts.hear(context_, status);
    node_.instance_usage = node_.instance_usage - entry->second.usage + status.usage;
    const bool only_measured = !is_new && is_same_but_measured(entry->second, status);
    const bool same_run = !is_new && entry->second.state == status.state &&
                          entry->second.stopping == status.stopping &&
                          entry->second.version == status.version &&
                          entry->second.runtime == status.runtime;
    entry->second = status;
    if (only_measured) return;
    context_.changes.instances.insert(status.key);
    const auto* record = context_.state.find<model::InstanceRecord>(status.key);
    if (record != nullptr) look_at_first_start(*record, status.problem);
    if (same_run) return;
    mark(status.key);
  }

  // The agent looks at its runtime once more before it starts something there. What it turns down
  // is placed anew, but for what is bound to where it has run.
  void look_at_first_start(const model::InstanceRecord& record, const model::Problem& problem) {
    if (!record.place || record.place->node != id_) return;
    if (is_active_at_its_place(context_, record)) {
      context_.statuses.was_active(record.key);
      pass_state_on(context_, record);
    }
    if (!start_was_refused(context_, record)) return;
    if (!context_.launcher.start_refused(record.key)) return;
    context_.launcher.plan_anew();
    context_.note(NoteKind::Refused, record.key,
                  fmt::format("by {}: {}", id_.value(),
                              problem.message.empty() ? problem.reason : problem.message));
  }

  void drop_status(const model::InstanceKey& key) {
    const auto known = node_.reported.find(key);
    if (known == node_.reported.end()) return;
    node_.instance_usage = node_.instance_usage - known->second.usage;
    node_.reported.erase(known);
    context_.changes.instances.insert(key);
    mark(key);
    confirm_stop(key);
    confirm_erased(key);
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    if (record == nullptr || !record->place || record->place->node != id_) return;
    if (record->preinstalled) {
      context_.erase(key);
    } else {
      context_.statuses.await_confirmation(context_, key, context_.config.run_timeout);
    }
  }

  // Also of what was never listed, and waits for its runtime to tell.
  void confirm_stops() {
    const auto stopping = node_.orders->stopping;
    for (const auto& [key, number] : stopping) confirm_stop(key);
  }

  // Others may have its room.
  void confirm_stop(const model::InstanceKey& key) {
    if (!Orders::confirm_stop(node_, key)) return;
    context_.changes.instances.insert(key);
    mark(key);
  }

  void confirm_erased(const model::InstanceKey& key) {
    if (Orders::confirm_erased(node_, key)) context_.lifetime.data_gone(id_, key);
  }

  // Agents list in the order of keys, as we keep them.
  std::vector<model::InstanceKey> not_listed() const {
    std::set<std::reference_wrapper<const model::InstanceKey>, std::less<model::InstanceKey>>
        listed;
    for (const model::ReportedStatus& status : report_.instances) {
      listed.insert(listed.end(), std::cref(status.key));
    }
    std::vector<model::InstanceKey> gone;
    auto next = listed.begin();
    for (const auto& [key, status] : node_.reported) {
      if (next != listed.end() && next->get() == key) {
        ++next;
      } else if (!is_untold(node_, status.runtime)) {
        gone.push_back(key);
      }
    }
    return gone;
  }

  void tell_again() {
    for (const model::InstanceKey& key : Orders::forget_missing(node_)) {
      context_.changes.instances.insert(key);
      mark(key);
    }
  }

  Context& context_;
  const model::NodeId& id_;
  ObservedNode& node_;
  const model::Report& report_;
  std::vector<model::InstanceKey> acted_on_;
  bool went_back_ = false;  // behind what the node had acted on
};

void ask_for_full(Context& context, const model::NodeId& id, ObservedNode& node) {
  const auto& asked = node.asked_for_full;
  if (asked && context.now - *asked < context.config.heartbeat) return;
  node.asked_for_full = context.now;
  context.orders.ask_fully(id);
  context.note(NoteKind::ReportGap, id, "asked for a full report");
}

enum class Verdict { Full, Next, Known, Stale, Gap };

Verdict judge(const ObservedNode& node, const model::Report& report) {
  if (report.full && !report.node) return Verdict::Gap;  // it is not the whole truth
  if (!node.reported_fully) return report.full ? Verdict::Full : Verdict::Gap;
  // Also a full report may have been overtaken by a newer one of this connection.
  if (report.revision < node.revision) return Verdict::Stale;
  if (report.full) return Verdict::Full;
  if (report.revision == node.revision) return Verdict::Known;
  const bool is_next = report.revision == node.revision + 1 && !model::is_heartbeat(report);
  return is_next ? Verdict::Next : Verdict::Gap;
}

void take(Context& context, const model::NodeId& id, ObservedNode& node,
          const model::Report& report, Verdict verdict) {
  node.revision = report.revision;
  const model::Usage system_usage = system_usage_of(node);
  Intake intake(context, id, node, report);
  if (verdict == Verdict::Full) intake.take_full();
  if (verdict == Verdict::Next) intake.take_partial();
  if (verdict == Verdict::Known) intake.take_acted();
  intake.confirm_erasures();
  intake.take_usage();
  context.loads.look_at(id);
  if (system_usage_of(node) != system_usage) {
    if (!node.orders->postponed.empty()) context.orders.look_at(id);
    context.launcher.is_used_otherwise(id);
  }
  context.orders.send_again_if_overdue(context, id, node);
}

void show_receipt(Context& context, const model::NodeId& id, ObservedNode& node,
                  const model::Receipt& receipt) {
  node.receipt = receipt;
  compare(context, id, receipt);
}

// Nothing that it says can be relied on; what it runs is left alone.
void refuse(Context& context, const model::NodeId& id, ObservedNode& node) {
  if (std::exchange(node.was_refused, true)) return;
  context.note(NoteKind::ReportRefused, id,
               "it claims to have carried out a command that was never given, without a receipt");
}

void lose_touch(Context& context, ObservedNode& node) {
  node.out_of_touch_since = context.now;
  node.reported_fully = false;
}

}  // namespace

namespace {

// What pools use is used by us.
void take_pool(Context& context, const model::NodeId& id, ObservedNode& node,
               const model::Report& report) {
  if (!report.pool || is_held(context)) return;
  const model::Usage usage = report.pool->usage.value_or(model::Usage{});
  if (std::exchange(node.pool_usage, usage) != usage) context.launcher.is_used_otherwise(id);
  context.sessions.report(context, id, node, report);
}

}  // namespace

void record(Context& context, const NodeReported& event) {
  ObservedNode* node = context.find_node(event.node);
  if (node == nullptr || node->connection != event.connection) return;
  node->last_heard = context.now;
  node->has_spoken = true;
  if (node->liveness != Liveness::Reachable) context.reachability.look_at(event.node);
  if (event.report.receipt) show_receipt(context, event.node, *node, *event.report.receipt);
  if (!is_credible(context, *node, event.report.acted)) return refuse(context, event.node, *node);
  const Verdict verdict = judge(*node, event.report);
  if (verdict == Verdict::Gap) return ask_for_full(context, event.node, *node);
  if (verdict == Verdict::Stale) return;
  take(context, event.node, *node, event.report, verdict);
  take_pool(context, event.node, *node, event.report);
  context.statuses.vouch(context, event.node);
}

// A connection counts as a word of the node, but not one after the other with nothing said on any:
// such a node is not there for us.
void record(Context& context, const NodeConnected& event) {
  const auto [entry, is_new] = context.nodes.try_emplace(event.node);
  ObservedNode& node = entry->second;
  if (event.connection <= node.newest_connection && !is_new) return;
  if (is_new || node.reported_fully) lose_touch(context, node);
  if (is_new || node.has_spoken) node.last_heard = context.now;
  node.has_spoken = false;
  node.connection = event.connection;
  node.address = event.address;
  context.sessions.disconnected(event.node);  // from the last one
  node.newest_connection = event.connection;
  node.asked_for_full.reset();
  node.receipt.reset();
  node.orders_shown.reset();
  node.was_refused = false;
  context.reachability.look_at(event.node);
}

void record(Context& context, const NodeDisconnected& event) {
  ObservedNode* node = context.find_node(event.node);
  if (node == nullptr || node->connection != event.connection) return;
  node->connection.reset();
  context.sessions.disconnected(event.node);
  if (node->reported_fully) lose_touch(context, *node);
  context.reachability.look_at(event.node);
}

}  // namespace berth::control
