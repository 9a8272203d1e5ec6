#include "sim/controller_host.h"

#include "base/check.h"
#include "controld/persistence.h"
#include "sim/describe.h"

namespace berth::sim {
namespace {

constexpr Duration kDateOfTheWorld = 1'700'000'000s;  // when virtual time was zero

void make_twin_addresses(control::Durable& durable) {
  std::optional<model::Ipv4> first;
  for (auto& [key, instance] : durable.instances) {
    if (!instance.address) continue;
    if (!first) first = instance.address;
    instance.address = first;
  }
}

control::Outgoing without_states(control::Outgoing outgoing) {
  std::erase_if(outgoing.command.states,
                [](const model::SavedState& state) { return !state.content.empty(); });
  return outgoing;
}

std::optional<model::Place> find_unready(
    const std::map<model::NodeId, control::ObservedNode>& nodes) {
  for (const auto& [id, node] : nodes) {
    for (const model::Runtime& runtime : node.info.runtimes) {
      if (runtime.ready != model::Readiness::Ready) return model::Place{id, runtime.id};
    }
  }
  return std::nullopt;
}

void misplace(control::Effects& effects,
              const std::map<model::NodeId, control::ObservedNode>& nodes) {
  const auto bad = find_unready(nodes);
  if (!bad) return;
  for (control::Write& write : effects.writes) {
    if (write.table != control::Table::Instances || !write.record) continue;
    auto& record = std::get<model::InstanceRecord>(*write.record);
    if (record.place) record.place = *bad;
  }
}

control::Config config_for(Duration heartbeat, Duration date_of_zero) {
  control::Config config;
  config.date_of_zero = date_of_zero;
  config.heartbeat = heartbeat;
  config.broken_after = heartbeat;
  config.silent_after = 2 * heartbeat;
  config.resend_after = 2 * heartbeat;
  config.node_lost_grace = 30 * heartbeat;
  return config;
}

}  // namespace

ControllerHost::ControllerHost(Stage& stage, Random random, Network& network, Checker& watch)
    : Daemon(stage, "controller", random), network_(network), watch_(watch) {}

void ControllerHost::boot() {
  Result<control::Durable> loaded = controld::load(disk_.store());
  CHECK(loaded.has_value(), loaded ? "" : loaded.error().message);
  watch_.controller_loaded(*loaded);
  tamper(*loaded);
  core_.emplace(config_for(stage_.heartbeat, kDateOfTheWorld - clock_offset()), std::move(*loaded));
  network_.controller_started();
}

void ControllerHost::died() {
  core_.reset();
  network_.controller_died();
}

control::Effects ControllerHost::step_core(Time now, std::span<const control::Event> batch) {
  ++stage_.counts.controller_steps;
  for (const control::Event& event : batch) {
    stage_.trace.line(stage_.now(), name_, "< {}", describe(event));
  }
  control::Effects effects = core_->step(now, batch);
  if (stage_.sabotage == Sabotage::Misplace) misplace(effects, core_->nodes());
  for (const control::Note& note : effects.notes) {
    stage_.trace.line(stage_.now(), name_, "{} {} {}", control::to_string(note.kind), note.about,
                      note.text);
  }
  watch_.controller_stepped(effects);
  return effects;
}

std::vector<store::Change> ControllerHost::changes_of(const control::Effects& effects) {
  return controld::to_changes(effects.writes);
}

void ControllerHost::committed(const control::Effects& effects) {
  watch_.controller_committed(effects);
}

void ControllerHost::perform(const control::Effects& effects) {
  for (const control::Outgoing& outgoing : effects.commands) {
    stage_.trace.line(stage_.now(), name_, "> {} {}", outgoing.node.value(),
                      describe(outgoing.command));
    watch_.sending(outgoing);
    if (stage_.sabotage == Sabotage::LoseStates) {
      network_.send(without_states(outgoing));
    } else {
      network_.send(outgoing);
    }
  }
  if (stage_.sabotage == Sabotage::DropReplies) return;
  for (const control::Reply& reply : effects.replies) {
    stage_.trace.line(stage_.now(), name_, "> {}", describe(reply));
    watch_.replying(reply);
  }
}

bool ControllerHost::skips_commit() {
  return stage_.sabotage == Sabotage::SkipCommits && ++commits_ % 7 == 0;
}

void ControllerHost::tamper(control::Durable& durable) const {
  if (stage_.sabotage == Sabotage::TwinAddress) make_twin_addresses(durable);
  if (stage_.sabotage == Sabotage::ForgetLeaving) {
    for (auto& [key, instance] : durable.instances) instance.leaving.reset();
  }
  if (stage_.sabotage != Sabotage::TwinUid) return;
  std::uint32_t first = 0;
  for (auto& [key, instance] : durable.instances) {
    if (first == 0) first = instance.uid;
    instance.uid = first;
  }
}

}  // namespace berth::sim
