#include "control/launcher/adoption.h"

#include <fmt/format.h>

#include "control/context.h"

namespace berth::control {
namespace {

// A component that was there before anybody asked for it becomes part of the cluster as it is.
void adopt(Context& context, const model::NodeId& id, const model::ReportedStatus& status) {
  model::InstanceRecord record;
  record.key = status.key;
  record.type = model::ItemType::Component;
  record.version = status.version;
  record.phase = model::Phase::Placed;
  record.place = model::Place{id, status.runtime};
  record.preinstalled = true;
  context.put(record);
  context.state.put(model::DecisionRecord{
      .key = status.key,
      .revision = context.state.revision() + 1,
      .kind = model::DecisionKind::Placed,
      .text = fmt::format("{} on {}", status.version, model::to_string(*record.place)),
      .because = "it was preinstalled there",
      .place = record.place,
      .reason = {},
      .hint = {},
      .answers = {}});
  context.launcher.plan_anew();
  context.note(
      NoteKind::Adopted, status.key,
      fmt::format("{} preinstalled on {}", status.version, model::to_string(*record.place)));
}

// A node that invents components cannot fill the store.
bool is_full(const Context& context) {
  return context.state.durable().instances.size() >= context.config.instances_max;
}

}  // namespace

void adopt_components(Context& context) {
  for (const auto& [id, key] : context.changes.on_nodes) {
    const ObservedNode* node = context.find_node(id);
    if (node == nullptr || node->orders->run.contains(key)) continue;
    const auto reported = node->reported.find(key);
    if (reported == node->reported.end() || reported->second.stopping) continue;
    if (reported->second.type != model::ItemType::Component) continue;
    if (context.state.find<model::InstanceRecord>(key) != nullptr || is_full(context)) continue;
    adopt(context, id, reported->second);
  }
}

}  // namespace berth::control
