#include "controld/api/messages.h"

#include <chrono>

#include "codec/wire.h"

namespace berth::controld::api {
namespace {

v1::Runtime to_message(const model::Runtime& runtime) {
  v1::Runtime message;
  message.set_name(runtime.id.value());
  message.set_type(std::string(model::to_string(runtime.type)));
  message.set_ready(std::string(model::to_string(runtime.ready)));
  message.set_primary(runtime.primary);
  message.set_message(runtime.message);
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
  if (status.place) {
    message.mutable_place()->set_node(status.place->node.value());
    message.mutable_place()->set_runtime(status.place->runtime.value());
  }
  message.set_unverified(status.unverified);
  if (status.exit_code) message.set_exit_code(*status.exit_code);
  message.set_restarts(status.restarts);
  return message;
}

v1::Instance to_message(const InstanceView& view) {
  v1::Instance message = to_message(view.status);
  *message.mutable_usage() = codec::to_wire(view.usage);
  message.set_priority(view.priority);
  message.set_uid(view.uid);
  message.set_gid(view.gid);
  message.set_type(std::string(model::to_string(view.type)));
  message.set_gone(view.gone);
  message.set_cached(view.kept_for.has_value());
  if (view.kept_for) {
    message.set_kept_for_ms(
        std::chrono::duration_cast<std::chrono::milliseconds>(*view.kept_for).count());
  }
  message.set_decision(view.decision);
  return message;
}

v1::Node to_message(const NodeView& view) {
  v1::Node message;
  message.set_name(view.id.value());
  message.set_type(view.info.type);
  message.set_state(std::string(model::to_string(view.info.state)));
  message.set_liveness(std::string(control::to_string(view.liveness)));
  message.set_silent_for_ms(
      std::chrono::duration_cast<std::chrono::milliseconds>(view.silent_for).count());
  message.set_cordoned(view.cordoned);
  message.set_draining(view.draining);
  *message.mutable_capacity() = codec::to_wire(view.info.capacity);
  *message.mutable_reserved() = codec::to_wire(view.reserved);
  *message.mutable_used() = codec::to_wire(view.used.value_or(model::Usage{}));
  message.set_measured(view.used.has_value());
  for (const std::string& label : view.settings.labels) message.add_labels(label);
  message.set_priority(view.settings.priority);
  const model::Runtime* primary = model::primary_runtime(view.info);
  for (const model::Runtime& runtime : view.info.runtimes) {
    v1::Runtime& added = *message.add_runtimes();
    added = to_message(runtime);
    added.set_primary(&runtime == primary);
  }
  message.set_instances(view.instances);
  message.set_services(view.services);
  message.set_gone(view.gone);
  return message;
}

v1::Event to_message(const LoggedEvent& event) {
  v1::Event message;
  message.set_number(event.number);
  message.set_time_ms(milliseconds(event.time));
  message.set_kind(std::string(control::to_string(event.note.kind)));
  message.set_about(event.note.about);
  message.set_text(event.note.text);
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
  return message;
}

}  // namespace berth::controld::api
