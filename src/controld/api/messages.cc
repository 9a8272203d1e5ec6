#include "controld/api/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/date.h"
#include "codec/wire.h"
#include "placement/relief_text.h"

namespace berth::controld::api {
namespace {

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

v1::Place to_message(const model::Place& place) {
  v1::Place message;
  message.set_node(place.node.value());
  message.set_runtime(place.runtime.value());
  return message;
}

v1::Runtime to_message(const model::Runtime& runtime, const ReadinessView& readiness) {
  v1::Runtime message;
  message.set_name(runtime.id.value());
  message.set_type(std::string(model::to_string(runtime.type)));
  message.set_kind(std::string(model::to_string(model::kind_of(runtime.type))));
  message.set_ready(std::string(model::to_string(runtime.ready)));
  message.set_graced(std::string(model::to_string(readiness.graced)));
  message.set_reason(runtime.reason);
  message.set_message(runtime.message);
  message.set_not_ready_since_ms(milliseconds(readiness.not_ready_since));
  message.set_grace_ms(milliseconds(runtime.grace));
  message.set_evicting(readiness.evicting);
  return message;
}

v1::Condition to_message(const ConditionView& condition, Duration heard_at) {
  v1::Condition message;
  message.set_type(std::string(model::to_string(condition.type)));
  message.set_status(std::string(model::to_string(condition.status)));
  message.set_reason(condition.reason);
  message.set_message(condition.message);
  message.set_last_transition_ms(milliseconds(condition.changed_at));
  message.set_last_heartbeat_ms(milliseconds(heard_at));
  return message;
}

v1::Load to_message(const control::ResourceLoad& load, const model::ThresholdRule& rule,
                    Time seen_at) {
  v1::Load message;
  message.set_state(std::string(control::to_string(load.state)));
  const bool is_normal = load.state == control::LoadState::Normal;
  message.set_for_ms(is_normal ? 0 : milliseconds(std::max(seen_at - load.since, Duration{})));
  message.set_min(rule.min);
  message.set_max(rule.max);
  message.set_timeout_ms(milliseconds(rule.timeout));
  return message;
}

v1::Relief to_message(const placement::Relief& relief) {
  v1::Relief message;
  message.set_node(relief.node.value());
  *message.mutable_capacity() = codec::to_wire(relief.capacity);
  *message.mutable_before() = codec::to_wire(relief.before);
  *message.mutable_planned() = codec::to_wire(relief.planned);
  *message.mutable_goal() = codec::to_wire(relief.goal);
  message.set_cpu_overloaded(relief.overloaded.cpu);
  message.set_ram_overloaded(relief.overloaded.ram);
  for (const auto& key : relief.leaving) *message.add_leaving() = codec::to_wire(key);
  if (relief.unrelieved) {
    message.mutable_problem()->set_reason(std::string(model::to_string(*relief.unrelieved)));
    message.mutable_problem()->set_message(placement::why_text(relief));
  }
  return message;
}

std::int64_t milliseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

v1::Instance to_message(const model::InstanceStatus& status) {
  v1::Instance message;
  *message.mutable_key() = codec::to_wire(status.key);
  message.set_version(status.version);
  message.set_state(codec::to_wire(status.state));
  if (!status.problem.reason.empty()) *message.mutable_problem() = codec::to_wire(status.problem);
  if (status.place) *message.mutable_place() = to_message(*status.place);
  if (status.moving_to) *message.mutable_moving_to() = to_message(*status.moving_to);
  message.set_unverified(status.unverified);
  message.set_proven(status.proven);
  message.set_away(status.away);
  message.set_since_ms(milliseconds(status.since));
  if (status.exit_code) message.set_exit_code(*status.exit_code);
  message.set_restarts(status.restarts);
  return message;
}

v1::Instance to_message(const InstanceView& view) {
  v1::Instance message = to_message(view.status);
  *message.mutable_usage() = codec::to_wire(view.usage);
  *message.mutable_footprint() = codec::to_wire(view.footprint);
  message.set_state_generation(view.state_generation);
  message.set_priority(view.priority);
  message.set_uid(view.uid);
  message.set_gid(view.gid);
  message.set_type(std::string(model::to_string(view.type)));
  message.set_gone(view.gone);
  if (view.address) message.set_address(model::to_string(*view.address));
  message.mutable_names()->Add(view.names.begin(), view.names.end());
  message.set_cached(view.kept_for.has_value());
  if (view.kept_for) {
    message.set_kept_for_ms(
        std::chrono::duration_cast<std::chrono::milliseconds>(*view.kept_for).count());
  }
  message.set_decision(view.decision);
  message.set_to_be_paused(view.to_be_paused);
  return message;
}

v1::Node to_message(const NodeView& view) {
  v1::Node message;
  message.set_name(view.id.value());
  message.set_type(view.info.type);
  message.set_state(std::string(model::to_string(view.info.state)));
  message.set_liveness(std::string(control::to_string(view.liveness)));
  message.set_silent_for_ms(milliseconds(view.silent_for));
  message.set_cordoned(view.cordoned);
  message.set_draining(view.draining);
  *message.mutable_capacity() = codec::to_wire(view.info.capacity);
  *message.mutable_reserved() = codec::to_wire(view.reserved);
  *message.mutable_used() = codec::to_wire(view.used.value_or(model::Usage{}));
  message.set_measured(view.used.has_value());
  for (const std::string& label : view.settings.labels) message.add_labels(label);
  message.set_priority(view.settings.priority);
  for (std::size_t i = 0; i < view.readiness.size(); ++i) {
    const model::Runtime& runtime = view.info.runtimes[i];
    v1::Runtime& added = *message.add_runtimes();
    added = to_message(runtime, view.readiness[i]);
    added.set_primary(runtime.id == view.primary);
  }
  for (const ConditionView& condition : view.conditions) {
    *message.add_conditions() = to_message(condition, view.heard_at);
  }
  const model::Thresholds& rules = view.settings.thresholds;
  if (rules.cpu) *message.mutable_cpu_load() = to_message(view.cpu_load, *rules.cpu, view.seen_at);
  if (rules.ram) *message.mutable_ram_load() = to_message(view.ram_load, *rules.ram, view.seen_at);
  message.set_instances(view.instances);
  message.set_services(view.services);
  message.set_gone(view.gone);
  *message.mutable_traffic() = codec::to_wire(view.measurement.traffic);
  for (const model::PartitionUsage& partition : view.measurement.partitions) {
    *message.add_partitions() = codec::to_wire(partition);
  }
  for (const std::string& remark : view.info.remarks) message.add_remarks(remark);
  message.set_store_problem(view.info.store_problem);
  return message;
}

v1::Event to_message(const LoggedEvent& event) {
  v1::Event message;
  message.set_number(event.number);
  message.set_time_ms(milliseconds(event.time));
  message.set_kind(event.kind);
  message.set_about(event.about);
  message.set_text(event.text);
  return message;
}

v1::Consequence to_message(const control::Consequence& consequence) {
  v1::Consequence message;
  *message.mutable_key() = codec::to_wire(consequence.key);
  message.set_action(std::string(control::to_string(consequence.kind)));
  message.set_version(consequence.version);
  if (consequence.place) *message.mutable_place() = to_message(*consequence.place);
  if (consequence.from) *message.mutable_from() = to_message(*consequence.from);
  message.set_downtime(std::string(control::to_string(consequence.downtime)));
  return message;
}

v1::Pool to_message(const PoolView& view) {
  v1::Pool message;
  message.set_namespace_(view.application.ns);
  message.set_application(view.application.name);
  message.set_ready(view.ready);
  message.set_pending(view.pending);
  message.set_standby(view.standby);
  message.set_active(view.active);
  message.set_terminating(view.terminating);
  message.set_waiting(view.waiting);
  if (!view.refusal.reason.empty()) *message.mutable_refusal() = codec::to_wire(view.refusal);
  if (!view.failure.reason.empty()) *message.mutable_failure() = codec::to_wire(view.failure);
  message.set_failures(view.failures);
  message.set_gone(view.gone);
  return message;
}

v1::Session to_message(const model::SessionStatus& status) {
  v1::Session message;
  message.set_name(status.ref.key.name);
  message.set_namespace_(status.ref.key.ns);
  message.set_application(status.application.name);
  if (!status.instance.item.empty()) message.set_instance(model::to_string(status.instance));
  message.set_node(status.node.value());
  message.set_state(std::string(model::to_string(status.state)));
  message.set_reason(status.reason.reason);
  message.set_message(status.reason.message);
  message.set_incarnation(status.ref.incarnation);
  for (const model::SessionPort& port : status.endpoints) {
    v1::SessionEndpoint& endpoint = *message.add_endpoints();
    endpoint.set_port(port.port.number);
    endpoint.set_protocol(std::string(model::to_string(port.port.protocol)));
    endpoint.set_external(fmt::format("{}:{}", port.external_address, port.external));
    endpoint.set_internal(port.internal);
  }
  message.set_clients(status.clients);
  message.mutable_times()->set_created(iso_date(status.created_at));
  if (status.available_at) message.mutable_times()->set_available(iso_date(*status.available_at));
  if (status.ended_at) message.mutable_times()->set_ended(iso_date(*status.ended_at));
  return message;
}

v1::Accepted to_message(const control::Accepted& accepted) {
  v1::Accepted message;
  message.set_revision(accepted.revision);
  for (const auto& [key, problem] : accepted.refused) {
    v1::Refused& refused = *message.add_refused();
    *refused.mutable_key() = codec::to_wire(key);
    *refused.mutable_problem() = codec::to_wire(problem);
  }
  message.set_refused_others(accepted.refused_others);
  for (const placement::Relief& relief : accepted.relief) {
    *message.add_relief() = to_message(relief);
  }
  for (const control::Consequence& consequence : accepted.consequences) {
    *message.add_consequences() = to_message(consequence);
  }
  return message;
}

v1::Finished to_message(const control::Finished& finished) {
  v1::Finished message;
  message.set_timed_out(finished.timed_out);
  for (const auto& status : finished.statuses) *message.add_instances() = to_message(status);
  for (const auto& rollout : finished.rolled_back) {
    v1::RolledBack& added = *message.add_rolled_back();
    added.set_item(rollout.item.value());
    added.set_subject(rollout.subject.value());
    added.set_from(rollout.from);
    added.set_to(rollout.to);
    *added.mutable_problem() = codec::to_wire(*rollout.failed);
    for (const std::uint32_t index : rollout.kept_back) added.add_kept_back(index);
  }
  for (const control::Incomplete& incomplete : finished.incomplete) {
    v1::Incomplete& added = *message.add_incomplete();
    added.set_item(incomplete.item.value());
    added.set_subject(incomplete.subject.value());
    added.set_version(incomplete.version);
    added.set_updated(incomplete.updated);
    added.set_total(incomplete.total);
    for (const model::NodeId& node : incomplete.away) added.add_away(node.value());
  }
  message.set_superseded_by(finished.superseded_by.value_or(0));
  return message;
}

}  // namespace berth::controld::api
