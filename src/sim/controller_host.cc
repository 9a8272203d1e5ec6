#include "sim/controller_host.h"

#include "base/check.h"
#include "codec/wire.h"
#include "controld/loop/persistence.h"
#include "sim/describe.h"

namespace berth::sim {
namespace {

constexpr std::size_t kStepsAhead = 50;  // of what is durable: few, so that it comes to its limit

void make_twin_addresses(control::Durable& durable) {
  std::optional<model::Ipv4> first;
  for (auto& [key, instance] : durable.instances) {
    if (!instance.address) continue;
    if (!first) first = instance.address;
    instance.address = first;
  }
}

// As the shell of a real control plane does it; nobody forges seals here.
control::Outgoing with_receipt(control::Outgoing outgoing, const std::string& cluster,
                               std::uint64_t life) {
  outgoing.command.receipt = model::Receipt{cluster, outgoing.command.number, "sealed", life};
  return outgoing;
}

// What the agent would refuse is never carried out, nor is anything after it.
void check_as_on_the_wire(const model::PoolCommand& command) {
  const auto taken = codec::from_wire(codec::to_wire(command));
  CHECK(taken.has_value(), taken ? "" : taken.error().message);
  CHECK(*taken == command, "a command that changes on its way");
}

control::Outgoing without_states(control::Outgoing outgoing) {
  std::erase_if(outgoing.command.states,
                [](const model::SavedState& state) { return !state.content.empty(); });
  return outgoing;
}

control::PoolOutgoing with_twin_ports(control::PoolOutgoing outgoing) {
  constexpr std::uint16_t kTwin = 20'000;
  for (model::PoolOrder& order : outgoing.command.orders) {
    auto* open = std::get_if<model::OpenSession>(&order);
    if (open == nullptr) continue;
    for (model::SessionPort& port : open->session.ports) port.external = kTwin;
  }
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
    if (write.table != control::table_of<model::InstanceRecord>() || !write.record) continue;
    auto record = write.record->get<model::InstanceRecord>();
    if (record.place) record.place = *bad;
    write.record = control::Record(record);
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
    : Daemon(stage, "controller", random, {.steps = kStepsAhead}),
      network_(network),
      watch_(watch) {
  model::CounterRecord counters;
  counters.cluster = kClusterOfTheWorld;
  begin_store(counters);
}

// As the shell does before the first start.
void ControllerHost::begin_store(const model::CounterRecord& counters) {
  std::vector<store::Entry> entries;
  for (const store::Change& change : controld::to_changes({control::put_write(counters)})) {
    entries.push_back({change.key, *change.value});
  }
  disk_.become(entries);
}

void ControllerHost::remember_store() {
  if (!core()) return;
  const model::CounterRecord& counters = core_->durable().counters;
  remembered_ = {counters.epoch, counters.revision};
  disk_.remember();
}

bool ControllerHost::remembers_less_than(const model::CommandNumber& number) const {
  return remembered_ != model::CommandNumber{} && remembered_ < number;
}

void ControllerHost::lose_store(Loss loss, Duration down) {
  if (own_store_) return;
  kill_for(down);
  own_store_ = disk_.entries();
  stage_.trace.line(stage_.now(), name_, "! loses its store: {}",
                    loss == Loss::Older ? "an older one is there" : "nothing is there");
  if (loss == Loss::Older) return disk_.fall_back();
  model::CounterRecord counters;
  counters.cluster = "another";
  counters.hold = model::Hold{model::HoldReason::StoreLost, {}, {}};
  begin_store(counters);
}

void ControllerHost::find_store(Duration down) {
  if (!own_store_) return;
  kill_for(down);
  disk_.become(*own_store_);
  own_store_.reset();
  stage_.trace.line(stage_.now(), name_, "! its store is found");
}

void ControllerHost::boot() {
  Result<control::Durable> loaded = controld::load(disk_.store());
  CHECK(loaded.has_value(), loaded ? "" : loaded.error().message);
  if (!own_store_) watch_.controller_loaded(*loaded);
  tamper(*loaded);
  const Duration date_of_zero = kDateOfTheWorld + clock_error_ - clock_offset();
  control::Config config = config_for(stage_.heartbeat, date_of_zero);
  config.life = ++lives_;
  if (stage_.session_ports) config.session_ports = *stage_.session_ports;
  if (lives_ % 2 == 0) config.placed_at_once = 2;  // so that most applies take several steps
  core_.emplace(config, std::move(*loaded));
  network_.controller_started();
}

void ControllerHost::died() {
  core_.reset();
  revisions_.clear();
  network_.controller_died();
}

control::Effects ControllerHost::step_core(Time now, std::span<const control::Event> batch) {
  ++stage_.counts.controller_steps;
  for (const control::Event& event : batch) {
    stage_.trace.line(stage_.now(), name_, "< {}", describe(event));
  }
  control::Effects effects = core_->step(now, batch);
  if (effects.tell_when_durable) revisions_.push_back(core_->durable().counters.revision);
  if (stage_.sabotage == Sabotage::Misplace) misplace(effects, core_->nodes());
  for (const control::Note& note : effects.notes) {
    stage_.trace.line(stage_.now(), name_, "{} {} {}", control::to_string(note.kind), note.about,
                      note.text);
  }
  if (own_store_) return effects;
  watch_.controller_stepped(effects);
  for (const control::Outgoing& outgoing : effects.commands) watch_.commanding(outgoing);
  return effects;
}

std::vector<store::Change> ControllerHost::changes_of(const control::Effects& effects) {
  return controld::to_changes(effects.writes);
}

void ControllerHost::committed(const control::Effects& effects) {
  if (!own_store_) watch_.controller_committed(effects);
  if (!effects.tell_when_durable) return;
  post(control::WritesDurable{revisions_.front()});
  revisions_.pop_front();
}

void ControllerHost::perform(const control::Effects& effects) {
  for (const control::Outgoing& unsealed : effects.commands) {
    control::Outgoing outgoing = with_receipt(unsealed, core_->durable().counters.cluster, lives_);
    if (own_store_ && stage_.sabotage == Sabotage::OrderWhileHeld) outgoing.command.base.reset();
    stage_.trace.line(stage_.now(), name_, "> {} {}", outgoing.node.value(),
                      describe(outgoing.command));
    own_store_ ? watch_.sending_without_store(outgoing) : watch_.sending(outgoing);
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

void ControllerHost::perform_at_once(const control::Effects& effects) {
  for (const control::PoolOutgoing& outgoing : effects.pool_commands) {
    stage_.trace.line(stage_.now(), name_, "> {} {}", outgoing.node.value(),
                      describe(outgoing.command));
    check_as_on_the_wire(outgoing.command);
    own_store_ ? watch_.sending_pool_without_store(outgoing) : watch_.sending_pool(outgoing);
    const bool are_twins = stage_.sabotage == Sabotage::TwinPorts;
    network_.send_pool(are_twins ? with_twin_ports(outgoing) : outgoing);
  }
  for (const control::SessionReply& reply : effects.session_replies) this->reply(reply);
}

void ControllerHost::reply(const control::SessionReply& reply) {
  stage_.trace.line(stage_.now(), name_, "> {}", describe(reply));
  if (stage_.sabotage != Sabotage::DropSessionReplies) watch_.replying(reply);
}

bool ControllerHost::skips_commit() {
  return stage_.sabotage == Sabotage::SkipCommits && ++commits_ % 7 == 0;
}

void ControllerHost::tamper(control::Durable& durable) const {
  if (stage_.sabotage == Sabotage::TwinAddress) make_twin_addresses(durable);
  if (stage_.sabotage == Sabotage::ReuseNumbers) durable.number_blocks.clear();
  if (stage_.sabotage != Sabotage::TwinUid) return;
  std::uint32_t first = 0;
  for (auto& [key, instance] : durable.instances) {
    if (first == 0) first = instance.uid;
    instance.uid = first;
  }
}

}  // namespace berth::sim
