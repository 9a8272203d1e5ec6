#include "control/orders/orders.h"

#include <utility>

#include "base/check.h"
#include "control/context.h"
#include "control/orders/order_changes.h"
#include "control/orders/wanted.h"
#include "control/rollout/states.h"

namespace berth::control {

// What a command to one agent will say.
struct Orders::Draft {
  model::NodeId node;
  OrderChanges changes;
  bool network = false;  // it is not what the node was told
  bool full = false;
  bool resend = false;
};

namespace {

using Keys = std::set<model::InstanceKey>;

bool can_be_told(const Context& context, const ObservedNode& node) {
  return context.reachability.settled() && node.connection && node.reported_fully &&
         node.reachable();
}

// Everything that the node has or shall have.
Keys all_keys_of(const Context& context, const model::NodeId& id, const ObservedNode& node) {
  Keys keys = context.state.instances_on(id);
  for (const auto& [key, status] : node.reported) keys.insert(key);
  return keys;
}

void add_states(const Context& context, const model::NodeId& id, model::Command& command) {
  const ObservedNode& node = *context.find_node(id);
  for (const model::InstanceSpec& spec : command.run) {
    auto state = state_for(context, id, spec.key, node.orders->run.at(spec.key).what);
    if (state) command.states.push_back(*std::move(state));
  }
  for (const auto& [key, digest] : node.orders->states_heard) {
    command.states.push_back({.key = key, .digest = digest});
  }
}

model::Command partial_command(const Context& context, const GivenOrders& given,
                               const OrderChanges& changes) {
  model::Command command{.number = {},
                         .base = given.last_sent,
                         .run = {},
                         .stop = {},
                         .keep = {},
                         .report_fully = false};
  for (const auto& key : changes.run) {
    command.run.push_back(spec_of(context, key, given.run.at(key).what));
  }
  command.stop.assign(changes.stop.begin(), changes.stop.end());
  command.erase.assign(changes.erase.begin(), changes.erase.end());
  return command;
}

model::Command full_command(const Context& context, const ObservedNode& node,
                            const OrderChanges& changes) {
  const GivenOrders& given = *node.orders;
  model::Command command;
  for (const auto& [key, order] : given.run) {
    const bool is_left = given.postponed.contains(key) && is_left_alone(context, key);
    if (is_left && find_former(context, key, order.what) == nullptr) {
      command.keep.push_back(key);
    } else {
      command.run.push_back(spec_of(context, key, order.what));
    }
  }
  // An update of what a former life of the controller had told waits for room. What is not listed
  // has no room there: should an older command have told of it, that is over.
  for (const model::InstanceKey& key : given.postponed) {
    if (!given.run.contains(key) && node.reported.contains(key)) command.keep.push_back(key);
  }
  command.erase.assign(changes.erase.begin(), changes.erase.end());
  for (const auto& [key, number] : given.erasing) command.erase.push_back(key);
  return command;
}

// Remembers by which command each order went, to know when it has been acted on.
void number_orders(GivenOrders& given, const OrderChanges& changes,
                   const model::CommandNumber& number) {
  for (const auto& key : changes.run) {
    given.run.at(key).number = number;
    given.in_flight.emplace(number, key);
  }
  for (const auto& key : changes.stop) {
    given.stopping.insert_or_assign(key, number);
    given.in_flight.emplace(number, key);
  }
  for (const auto& key : changes.erase) {
    given.erasing.insert_or_assign(key, number);
    given.in_flight.emplace(number, key);
  }
}

}  // namespace

// --- What was heard of a node ------------------------------------------------------------------

void Orders::forget_given(ObservedNode& node) {
  GivenOrders& given = node.orders.given_;
  given.needs_full_command = true;
  given.run.clear();
  given.stopping.clear();
  given.revoked.clear();
  given.erasing.clear();
  given.in_flight.clear();
}

bool Orders::is_in_step(const ObservedNode& node, const model::CommandNumber& acted) {
  return node.orders->last_sent && acted == *node.orders->last_sent;
}

std::vector<model::InstanceKey> Orders::take_acted(ObservedNode& node) {
  std::vector<model::InstanceKey> keys;
  auto& in_flight = node.orders.given_.in_flight;
  while (!in_flight.empty() && in_flight.begin()->first <= node.acted) {
    keys.push_back(in_flight.begin()->second);
    in_flight.erase(in_flight.begin());
  }
  return keys;
}

bool Orders::confirm_stop(ObservedNode& node, const model::InstanceKey& key) {
  GivenOrders& given = node.orders.given_;
  const auto stop = given.stopping.find(key);
  if (stop == given.stopping.end()) return false;
  if (node.acted < stop->second || node.reported.contains(key)) return false;
  const auto revoked = given.revoked.find(key);
  // It was never listed, and its agent cannot know whether it had begun to run there.
  if (revoked != given.revoked.end() && is_untold(node, revoked->second.runtime)) return false;
  given.stopping.erase(stop);
  given.revoked.erase(key);
  return true;
}

// While an agent erases what an instance has left, it lists it.
bool Orders::confirm_erased(ObservedNode& node, const model::InstanceKey& key) {
  auto& erasing = node.orders.given_.erasing;
  const auto found = erasing.find(key);
  if (found == erasing.end()) return false;
  if (node.acted < found->second || node.reported.contains(key)) return false;
  erasing.erase(found);
  return true;
}

std::vector<model::InstanceKey> Orders::forget_missing(ObservedNode& node) {
  std::vector<model::InstanceKey> missing;
  erase_if(node.orders.given_.run, [&](const auto& entry) {
    const auto& [key, order] = entry;
    if (node.acted < order.number || node.reported.contains(key)) return false;
    missing.push_back(key);
    return true;
  });
  return missing;
}

void Orders::state_heard(const model::NodeId& id, ObservedNode& node,
                         const model::SavedState& state) {
  node.orders.given_.states_heard.insert_or_assign(state.key, state.digest);
  look_at(id);
}

void Orders::send_again_if_overdue(const Context& context, const model::NodeId& id,
                                   const ObservedNode& node) {
  const bool is_overdue = context.now - node.orders->behind_since >= context.config.resend_after;
  if (node.is_behind() && is_overdue) overdue_.insert(id);
}

// --- Commands ----------------------------------------------------------------------------------

std::map<model::NodeId, Keys> Orders::changed_keys(const Context& context) const {
  std::map<model::NodeId, Keys> keys;
  for (const auto& [node, key] : context.changes.on_nodes) {
    Keys& of_node = keys[node];
    of_node.insert(of_node.end(), key);
  }
  for (const model::NodeId& node : overdue_) keys[node];
  for (const model::NodeId& node : marked_) keys[node];
  return keys;
}

Orders::Draft Orders::draft_command(Context& context, const model::NodeId& id, ObservedNode& node,
                                    const Keys& keys) {
  GivenOrders& given = node.orders.given_;
  Draft draft{.node = id,
              .changes = change_orders(context, id, given, keys),
              .network = context.network.present_network(id) != given.network,
              .full = given.needs_full_command,
              .resend = false};
  given.postponed.empty() ? void(postponing_.erase(id)) : void(postponing_.insert(id));
  if (overdue_.contains(id)) {
    // It may lack what a partial command would build on.
    draft.full |= !draft.changes.empty() || draft.network || !given.states_heard.empty();
    draft.resend = !draft.full;
  }
  return draft;
}

std::vector<Orders::Draft> Orders::draft_commands(Context& context) {
  std::vector<Draft> drafts;
  for (auto& [id, keys] : changed_keys(context)) {
    ObservedNode* node = context.find_node(id);
    if (node == nullptr) continue;
    GivenOrders& given = node->orders.given_;
    if (!can_be_told(context, *node)) {
      if (!given.needs_full_command) given.missed.merge(keys);
      continue;
    }
    if (given.needs_full_command) keys = all_keys_of(context, id, *node);
    Draft draft = draft_command(context, id, *node, keys);
    const bool says_something =
        !draft.changes.empty() || draft.network || !given.states_heard.empty();
    if (draft.full || draft.resend || says_something) drafts.push_back(std::move(draft));
  }
  return drafts;
}

void Orders::send(Context& context, const Draft& draft) {
  ObservedNode& node = context.nodes.at(draft.node);
  GivenOrders& given = node.orders.given_;
  const Durable& durable = context.state.durable();
  const model::CommandNumber newest{durable.counters.epoch, durable.counters.revision};
  const bool full = draft.full || draft.resend;
  model::Command command = full ? full_command(context, node, draft.changes)
                                : partial_command(context, given, draft.changes);
  command.number = draft.resend ? *given.last_sent : newest;
  if (full || draft.network) command.network = context.network.network_of(context, draft.node);
  add_states(context, draft.node, command);
  given.states_heard.clear();
  CHECK(!command.base || *command.base < command.number, "numbers of commands grow");
  if (!draft.resend) number_orders(given, draft.changes, command.number);
  if (full || !node.is_behind()) given.behind_since = context.now;
  given.needs_full_command = false;
  given.network = context.network.present_network(draft.node);
  given.last_sent = command.number;
  if (draft.resend) context.note(NoteKind::CommandResent, draft.node, "");
  context.effects.commands.push_back({draft.node, *node.connection, std::move(command)});
}

// An empty partial command that changes nothing but asks for the truth.
void Orders::ask_for_full_reports(Context& context) const {
  for (const model::NodeId& id : to_report_) {
    const ObservedNode* node = context.find_node(id);
    if (node == nullptr || !node->connection) continue;
    model::Command command;
    command.number = node->orders->last_sent.value_or(node->acted);
    command.base = command.number;
    command.report_fully = true;
    context.effects.commands.push_back({id, *node->connection, std::move(command)});
  }
}

void Orders::decide(Context& context) {
  const std::vector<Draft> drafts = draft_commands(context);
  for (const Draft& draft : drafts) {
    if (draft.resend) continue;
    context.state.need_new_revision();
    context.lives.record_own(context.state);
  }
  context.effects.writes = context.state.seal();
  for (const Draft& draft : drafts) send(context, draft);
  ask_for_full_reports(context);
  look_on();
}

void Orders::look_on() {
  marked_.clear();
  to_report_.clear();
  overdue_.clear();
}

void Orders::forget(const model::NodeId& node) { postponing_.erase(node); }

bool is_present(const Nodes& nodes, const model::NodeId& id, const model::InstanceKey& key) {
  const auto found = nodes.find(id);
  if (found == nodes.end()) return false;
  const ObservedNode& node = found->second;
  return node.orders->run.contains(key) || node.reported.contains(key) ||
         node.orders->stopping.contains(key);
}

}  // namespace berth::control
