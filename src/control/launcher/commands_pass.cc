#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "base/check.h"
#include "control/launcher/rollouts.h"
#include "control/launcher/start_gate.h"
#include "control/launcher/states.h"
#include "control/launcher/trials.h"
#include "control/launcher/wanted.h"
#include "control/passes.h"

namespace berth::control {
namespace {

// What changes for one agent in this step.
struct Orders {
  std::set<model::InstanceKey> run;
  std::set<model::InstanceKey> stop;
  std::set<model::InstanceKey> erase;  // their data

  bool empty() const { return run.empty() && stop.empty() && erase.empty(); }
};

using Keys = std::set<model::InstanceKey>;

// Of what one command carries; the rest waits for the next.
constexpr std::size_t kStateBytesMax = 32 << 20;

bool needs_other_room(const Told& told, const Told& wanted) {
  return told.version != wanted.version || told.item_edition != wanted.item_edition ||
         told.runtime != wanted.runtime;
}

// By another document than it was started with; it is not its turn to be started anew.
bool is_left_alone(const Context& context, const model::InstanceKey& key) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  return record != nullptr && awaits_restart(context, *record);
}

// One agent's part of the pass.
class Orderly {
 public:
  Orderly(Context& context, const model::NodeId& id, Keys keys)
      : context_(context), id_(id), node_(context.nodes.at(id)), keys_(std::move(keys)) {}

  Orders take_orders() {
    held_back_before_ = std::exchange(node_.held_back, {});
    keys_.insert(held_back_before_.begin(), held_back_before_.end());
    keys_.merge(std::exchange(node_.not_told, {}));
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
    if (is_left_alone(context_, key) && runs_as(key, wanted) && !node_.stopping.contains(key)) {
      left_alone_.insert(key);
      if (told != node_.told.end()) look_at_left_alone(key, told->second.what, wanted);
      return;
    }
    if (told != node_.told.end()) {
      look_at_told(key, told->second.what, wanted);
    } else if (runs_as(key, wanted) && !node_.stopping.contains(key)) {
      tell(key, wanted);  // it has its room already
    } else {
      newcomers_.emplace(key, wanted);
    }
  }

  // What needs no other document reaches it nevertheless, as long as we know the one that it has.
  void look_at_left_alone(const model::InstanceKey& key, const Told& told, Told wanted) {
    if (find_former(context_, key, told) == nullptr) return;
    wanted.item_edition = told.item_edition;
    wanted.image = told.image;
    wanted.network = told.network;
    if (told != wanted) tell(key, wanted);
  }

  bool runs_as(const model::InstanceKey& key, const Told& wanted) const {
    const auto reported = node_.reported.find(key);
    return reported != node_.reported.end() && reported->second.version == wanted.version &&
           reported->second.runtime == wanted.runtime && !reported->second.prepare_only;
  }

  void look_at_told(const model::InstanceKey& key, const Told& told, const Told& wanted) {
    if (told == wanted) return;
    if (needs_other_room(told, wanted)) {
      newcomers_.emplace(key, wanted);
    } else {
      tell(key, wanted);
    }
  }

  // A component that we have not told the agent to run is not ours to stop.
  void look_at_unwanted(const model::InstanceKey& key) {
    const auto order = node_.told.find(key);
    const bool told = order != node_.told.end();
    if (told) {
      node_.revoked.insert_or_assign(key, order->second.what);
      node_.told.erase(order);
      is_told_or_not(key);
    }
    orders_.run.erase(key);
    const auto reported = node_.reported.find(key);
    const bool is_ours =
        reported != node_.reported.end() && reported->second.type != model::ItemType::Component;
    if ((told || is_ours) && !node_.stopping.contains(key)) orders_.stop.insert(key);
    if (must_be_erased(key)) orders_.erase.insert(key);
  }

  // Its data go when nothing of it is there any more that could use them.
  bool must_be_erased(const model::InstanceKey& key) const {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    if (record == nullptr || record->phase != model::Phase::Erasing) return false;
    return record->data_on.contains(id_) && !node_.reported.contains(key) &&
           !node_.stopping.contains(key) && !node_.erasing.contains(key) &&
           !orders_.stop.contains(key);
  }

  void ask_for_room() {
    GateAnswer answer = ask_gate(context_, id_, newcomers_);
    std::size_t state_bytes = 0;
    for (const model::InstanceKey& key : answer.admitted) {
      const auto state = state_for(context_, id_, key, newcomers_.at(key));
      const std::size_t more = state ? state->content.size() : 0;
      if (state_bytes > 0 && state_bytes + more > kStateBytesMax) {
        answer.held_back.insert(key);
        continue;
      }
      state_bytes += more;
      tell(key, newcomers_.at(key));
    }
    node_.held_back = std::move(answer.held_back);
    tell_who_waits();
    node_.held_back.merge(left_alone_);
    if (node_.held_back.empty()) {
      context_.holding_back.erase(id_);
    } else {
      context_.holding_back.insert(id_);
    }
    for (const model::InstanceKey& key : answer.hurried) hurry(key);
  }

  // Their statuses say so.
  void tell_who_waits() {
    std::ranges::set_symmetric_difference(
        held_back_before_, node_.held_back,
        std::inserter(context_.dirty.statuses, context_.dirty.statuses.end()));
  }

  void hurry(const model::InstanceKey& key) {
    model::InstanceRecord record = *context_.state.find<model::InstanceRecord>(key);
    record.leaving->stop_first = true;
    context_.put(record);
    look_at(key);
  }

  void tell(const model::InstanceKey& key, const Told& wanted) {
    const auto told = node_.told.find(key);
    const bool is_news = told == node_.told.end() || needs_other_room(told->second.what, wanted);
    const bool begins_anew = node_.stopping.contains(key) ||
                             (told != node_.told.end() && told->second.what.prepare_only);
    node_.told.insert_or_assign(key, Order{wanted, {}, begins_anew});
    if (is_news) is_told_or_not(key);
    context_.dirty.statuses.insert(key);  // until it has acted on that, it proves nothing
    node_.stopping.erase(key);
    node_.revoked.erase(key);
    orders_.stop.erase(key);
    orders_.run.insert(key);
  }

  // Whatever is on trial here may be late from now on, or no longer.
  void is_told_or_not(const model::InstanceKey& key) {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    const bool is_here = record != nullptr && record->place && record->place->node == id_;
    if (is_here) set_deadline(context_, *record);
  }

  Context& context_;
  const model::NodeId& id_;
  ObservedNode& node_;
  Keys keys_;
  std::map<model::InstanceKey, Told> newcomers_;
  Keys left_alone_;
  Keys held_back_before_;
  Orders orders_;
};

struct Letter {
  model::NodeId node;
  Orders orders;
  bool network = false;  // it is not what the node was told
  bool full = false;
  bool resend = false;
};

bool can_be_told(const Context& context, const ObservedNode& node) {
  return context.reachability.settled() && node.connection && node.reported_fully &&
         node.reachable();
}

std::map<model::NodeId, Keys> dirty_keys(const Context& context) {
  std::map<model::NodeId, Keys> keys;
  for (const auto& [node, key] : context.dirty.wanted) {
    Keys& of_node = keys[node];
    of_node.insert(of_node.end(), key);
  }
  for (const model::NodeId& node : context.dirty.resends) keys[node];
  for (const model::NodeId& node : context.dirty.letters) keys[node];
  return keys;
}

// Everything that the node has or shall have.
Keys all_keys_of(const Context& context, const model::NodeId& id, const ObservedNode& node) {
  Keys keys = context.state.instances_on(id);
  for (const auto& [key, status] : node.reported) keys.insert(key);
  return keys;
}

std::vector<Letter> write_letters(Context& context) {
  std::vector<Letter> letters;
  for (auto& [id, keys] : dirty_keys(context)) {
    ObservedNode* node = context.find_node(id);
    if (node == nullptr) continue;
    if (!can_be_told(context, *node)) {
      if (!node->needs_full_command) node->not_told.merge(keys);
      continue;
    }
    if (node->needs_full_command) keys = all_keys_of(context, id, *node);
    Letter letter{.node = id,
                  .orders = Orderly(context, id, keys).take_orders(),
                  .network = context.network.present_network(id) != node->told_network,
                  .full = node->needs_full_command,
                  .resend = false};
    const bool has_orders = !letter.orders.empty() || letter.network || !node->states_heard.empty();
    if (context.dirty.resends.contains(id)) {
      // It may lack what a partial command would build on.
      letter.full |= has_orders;
      letter.resend = !letter.full;
    }
    if (letter.full || has_orders || letter.resend) letters.push_back(std::move(letter));
  }
  return letters;
}

void add_states(const Context& context, const model::NodeId& id, model::Command& command) {
  const ObservedNode& node = *context.find_node(id);
  for (const model::InstanceSpec& spec : command.run) {
    auto state = state_for(context, id, spec.key, node.told.at(spec.key).what);
    if (state) command.states.push_back(*std::move(state));
  }
  for (const auto& [key, digest] : node.states_heard) {
    command.states.push_back({.key = key, .digest = digest});
  }
}

model::Command partial_command(const Context& context, const ObservedNode& node,
                               const Orders& orders) {
  model::Command command{.number = {},
                         .base = node.last_sent,
                         .run = {},
                         .stop = {},
                         .keep = {},
                         .report_fully = false};
  for (const auto& key : orders.run) {
    command.run.push_back(spec_of(context, key, node.told.at(key).what));
  }
  command.stop.assign(orders.stop.begin(), orders.stop.end());
  command.erase.assign(orders.erase.begin(), orders.erase.end());
  return command;
}

model::Command full_command(const Context& context, const ObservedNode& node,
                            const Orders& orders) {
  model::Command command;
  for (const auto& [key, order] : node.told) {
    const bool is_left = node.held_back.contains(key) && is_left_alone(context, key);
    if (is_left && find_former(context, key, order.what) == nullptr) {
      command.keep.push_back(key);
    } else {
      command.run.push_back(spec_of(context, key, order.what));
    }
  }
  // An update of what a former life of the controller had told waits for room.
  for (const model::InstanceKey& key : node.held_back) {
    if (!node.told.contains(key)) command.keep.push_back(key);
  }
  command.erase.assign(orders.erase.begin(), orders.erase.end());
  for (const auto& [key, number] : node.erasing) command.erase.push_back(key);
  return command;
}

// Remembers by which command each order went, to know when it has been acted on.
void number_orders(ObservedNode& node, const Orders& orders, const model::CommandNumber& number) {
  for (const auto& key : orders.run) {
    node.told.at(key).number = number;
    node.in_flight.emplace(number, key);
  }
  for (const auto& key : orders.stop) {
    node.stopping.insert_or_assign(key, number);
    node.in_flight.emplace(number, key);
  }
  for (const auto& key : orders.erase) {
    node.erasing.insert_or_assign(key, number);
    node.in_flight.emplace(number, key);
  }
}

void send(Context& context, const Letter& letter) {
  ObservedNode& node = context.nodes.at(letter.node);
  const Durable& durable = context.state.durable();
  const model::CommandNumber newest{durable.counters.epoch, durable.counters.revision};
  const bool full = letter.full || letter.resend;
  model::Command command = full ? full_command(context, node, letter.orders)
                                : partial_command(context, node, letter.orders);
  command.number = letter.resend ? *node.last_sent : newest;
  if (full || letter.network) command.network = context.network.network_of(context, letter.node);
  add_states(context, letter.node, command);
  node.states_heard.clear();
  CHECK(!command.base || *command.base < command.number, "numbers of commands grow");
  if (!letter.resend) number_orders(node, letter.orders, command.number);
  if (letter.full || letter.resend || !node.is_behind()) node.behind_since = context.now;
  node.needs_full_command = false;
  node.told_network = context.network.present_network(letter.node);
  node.last_sent = command.number;
  if (letter.resend) context.note(NoteKind::CommandResent, letter.node, "");
  context.effects.commands.push_back({letter.node, *node.connection, std::move(command)});
}

// An empty partial command that changes nothing but asks for the truth.
void ask_for_full_reports(Context& context) {
  for (const model::NodeId& id : context.dirty.full_reports) {
    const ObservedNode* node = context.find_node(id);
    if (node == nullptr || !node->connection) continue;
    model::Command command;
    command.number = node->last_sent.value_or(node->acted);
    command.base = command.number;
    command.report_fully = true;
    context.effects.commands.push_back({id, *node->connection, std::move(command)});
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
