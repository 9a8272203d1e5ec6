#include <fmt/format.h>

#include <vector>

#include "base/check.h"
#include "control/cluster/alarms.h"
#include "control/launcher/start_gate.h"
#include "control/launcher/wanted.h"
#include "control/passes.h"

namespace berth::control {
namespace {

// What changes for one agent in this step.
struct Orders {
  std::set<model::InstanceKey> run;
  std::set<model::InstanceKey> stop;
};

using Keys = std::set<model::InstanceKey>;

bool is_component_unknown_to_us(const Context& context, const model::ReportedStatus& status) {
  return status.type == model::ItemType::Component && !status.stopping &&
         context.state.find_instance(status.key) == nullptr;
}

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
  context.note(
      NoteKind::Adopted, status.key,
      fmt::format("{} preinstalled on {}", status.version, model::to_string(*record.place)));
}

// One agent's part of the pass.
class Orderly {
 public:
  Orderly(Context& context, const model::NodeId& id, Keys keys)
      : context_(context), id_(id), node_(context.nodes.at(id)), keys_(std::move(keys)) {}

  Orders take_orders() {
    keys_.insert(node_.held_back.begin(), node_.held_back.end());
    node_.held_back.clear();
    for (const model::InstanceKey& key : keys_) look_at(key);
    ask_for_room();
    return std::move(orders_);
  }

 private:
  void look_at(const model::InstanceKey& key) {
    if (const auto wanted = wanted_on(context_, id_, key)) {
      look_at_wanted(key, *wanted);
    } else {
      look_at_unwanted(key);
    }
  }

  void look_at_wanted(const model::InstanceKey& key, const Told& wanted) {
    const auto told = node_.told.find(key);
    if (told != node_.told.end()) {
      if (told->second != wanted) tell(key, wanted);
    } else if (node_.reported.contains(key) && !node_.stopping.contains(key)) {
      tell(key, wanted);  // it has its room already
    } else {
      newcomers_.insert(key);
    }
  }

  void look_at_unwanted(const model::InstanceKey& key) {
    const bool told = node_.told.erase(key) > 0;
    const auto reported = node_.reported.find(key);
    const bool there = reported != node_.reported.end();
    if (!told && there && is_component_unknown_to_us(context_, reported->second)) {
      return adopt(context_, id_, reported->second);
    }
    const auto* record = context_.state.find_instance(key);
    if (record != nullptr && record->preinstalled && record->place->node == id_) return;
    if ((told || there) && !node_.stopping.contains(key)) orders_.stop.insert(key);
  }

  void ask_for_room() {
    GateAnswer answer = ask_gate(context_, id_, newcomers_);
    for (const model::InstanceKey& key : answer.admitted) tell(key, *wanted_on(context_, id_, key));
    node_.held_back = std::move(answer.held_back);
    for (const model::InstanceKey& key : answer.hurried) hurry(key);
  }

  void hurry(const model::InstanceKey& key) {
    model::InstanceRecord record = *context_.state.find_instance(key);
    record.leaving->stop_first = true;
    context_.put(record);
    look_at(key);
  }

  void tell(const model::InstanceKey& key, const Told& wanted) {
    node_.told.insert_or_assign(key, wanted);
    node_.stopping.erase(key);
    orders_.run.insert(key);
  }

  Context& context_;
  const model::NodeId& id_;
  ObservedNode& node_;
  Keys keys_;
  Keys newcomers_;
  Orders orders_;
};

struct Letter {
  model::NodeId node;
  Orders orders;
  bool full = false;
  bool resend = false;
};

bool can_be_told(const Context& context, const ObservedNode& node) {
  return context.settled && node.connection && node.reported_fully && node.reachable();
}

std::map<model::NodeId, Keys> dirty_keys(const Context& context) {
  std::map<model::NodeId, Keys> keys;
  for (const auto& [node, key] : context.dirty.wanted) keys[node].insert(key);
  for (const model::NodeId& node : context.dirty.resends) keys[node];
  for (const auto& [id, node] : context.nodes) {
    if (node.needs_full_command && can_be_told(context, node)) keys[id];
  }
  return keys;
}

// Everything that the node has or shall have is looked at again, as if it had been told nothing.
Keys all_keys_of(const Context& context, const model::NodeId& id, const ObservedNode& node) {
  Keys keys = context.state.instances_on(id);
  for (const auto& [key, status] : node.reported) keys.insert(key);
  return keys;
}

std::vector<Letter> write_letters(Context& context) {
  std::vector<Letter> letters;
  for (auto& [id, keys] : dirty_keys(context)) {
    ObservedNode* node = context.find_node(id);
    if (node == nullptr || !can_be_told(context, *node)) continue;
    Letter letter{.node = id, .orders = {}, .full = node->needs_full_command, .resend = false};
    if (letter.full) {
      node->told.clear();
      node->stopping.clear();
      keys = all_keys_of(context, id, *node);
    }
    letter.orders = Orderly(context, id, keys).take_orders();
    const bool has_orders = !letter.orders.run.empty() || !letter.orders.stop.empty();
    letter.resend = !letter.full && !has_orders && context.dirty.resends.contains(id);
    if (letter.full || has_orders || letter.resend) letters.push_back(std::move(letter));
  }
  return letters;
}

model::Command partial_command(const Context& context, const ObservedNode& node,
                               const Orders& orders) {
  model::Command command{
      .number = {}, .base = node.last_sent, .run = {}, .stop = {}, .report_fully = false};
  for (const auto& key : orders.run) {
    command.run.push_back(spec_of(context, key, node.told.at(key)));
  }
  command.stop.assign(orders.stop.begin(), orders.stop.end());
  return command;
}

model::Command full_command(const Context& context, const ObservedNode& node) {
  model::Command command;
  for (const auto& [key, told] : node.told) command.run.push_back(spec_of(context, key, told));
  return command;
}

void send(Context& context, const Letter& letter) {
  ObservedNode& node = context.nodes.at(letter.node);
  const Durable& durable = context.state.durable();
  const model::CommandNumber newest{durable.counters.epoch, durable.counters.revision};
  const bool full = letter.full || letter.resend || !node.last_sent;
  model::Command command =
      full ? full_command(context, node) : partial_command(context, node, letter.orders);
  command.number = letter.resend ? *node.last_sent : newest;
  CHECK(!command.base || *command.base < command.number, "numbers of commands grow");
  for (const auto& key : letter.orders.stop) node.stopping.insert_or_assign(key, command.number);
  node.needs_full_command = false;
  node.last_sent = command.number;
  node.sent_at = context.now;
  if (letter.resend) context.note(NoteKind::CommandResent, letter.node, "");
  context.effects.commands.push_back({letter.node, *node.connection, std::move(command)});
}

// An empty partial command that changes nothing but asks for the truth.
void ask_for_full_reports(Context& context) {
  for (const model::NodeId& id : context.dirty.full_reports) {
    const ObservedNode& node = context.nodes.at(id);
    if (!node.connection) continue;
    model::Command command;
    command.number = node.last_sent.value_or(node.acted);
    command.base = command.number;
    command.report_fully = true;
    context.effects.commands.push_back({id, *node.connection, std::move(command)});
  }
}

}  // namespace

void commands_pass(Context& context) {
  const std::vector<Letter> letters = write_letters(context);
  for (const Letter& letter : letters) {
    if (!letter.resend) context.state.need_new_revision();
  }
  context.effects.writes = context.state.seal();
  for (const Letter& letter : letters) send(context, letter);
  ask_for_full_reports(context);
}

}  // namespace berth::control
