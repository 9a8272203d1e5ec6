#include "control/hold/hold.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/hold/rebuild.h"
#include "control/record_events.h"

namespace berth::control {
namespace {

std::string to_text(const model::CommandNumber& number) {
  return fmt::format("{}.{}", number.epoch, number.number);
}

model::CommandNumber newest_number(const model::CounterRecord& counters) {
  return {counters.epoch, counters.revision};
}

// Of another store that an operator has replaced by this one nothing needs to be known.
std::optional<model::Hold> what_is_wrong(const Context& context, const model::NodeId& node,
                                         const model::Receipt& receipt) {
  const Durable& durable = context.state.durable();
  const model::CounterRecord& counters = durable.counters;
  if (receipt.cluster != counters.cluster) {
    if (receipt.number.epoch < counters.epoch) return std::nullopt;
    return model::Hold{model::HoldReason::OtherCluster, receipt.number, node};
  }
  const auto known = context.lives.last_known(durable, receipt);
  if (known && receipt.number <= std::min(*known, newest_number(counters))) return std::nullopt;
  return model::Hold{model::HoldReason::StoreBehind, receipt.number, node,
                     known.value_or(model::CommandNumber{})};
}

void put_hold(Context& context, const std::optional<model::Hold>& hold) {
  model::CounterRecord counters = context.state.durable().counters;
  counters.hold = hold;
  context.state.put(counters);
}

// Above all that anybody was told before, so that every agent takes what comes now for newer.
void begin_epoch(Context& context) {
  model::CounterRecord counters = context.state.durable().counters;
  counters.epoch = std::max(counters.epoch, counters.hold->shown.epoch);
  for (const auto& [id, node] : context.nodes) {
    counters.epoch = std::max(counters.epoch, node.acted.epoch);
  }
  ++counters.epoch;
  counters.hold.reset();
  context.state.put(counters);
}

Result<void> release(Context& context, const ReleaseCall& call) {
  if (!is_held(context)) {
    return Error{Code::Conflict, "the control plane is not held: there is nothing to decide"};
  }
  if (call.how == Release::Adopt) TRY(rebuild(context));
  begin_epoch(context);
  for (auto& [id, node] : context.nodes) node.orders_shown.reset();
  context.changes.everything = true;
  context.launcher.cluster_changed();
  context.note(NoteKind::HoldEnded, std::string(),
               call.how == Release::Adopt ? "what the agents run is asked for again"
                                          : "the store is the truth, by order");
  return {};
}

bool must_be_asked(const ObservedNode& node) {
  return node.in_touch() && !node.orders_shown && node.asked_for_orders != node.connection;
}

}  // namespace

bool is_held(const Context& context) { return context.state.durable().counters.hold.has_value(); }

std::string to_text(const model::Hold& hold) {
  const std::string who = hold.node ? hold.node->value() : "an agent";
  switch (hold.reason) {
    case model::HoldReason::StoreLost:
      return "the store is new, but the unit is not: what was asked for is not known";
    case model::HoldReason::StoreBehind:
      if (hold.known == model::CommandNumber{}) {
        return fmt::format("{} has carried out command {}, of a time that the store does not know",
                           who, to_text(hold.shown));
      }
      return fmt::format("{} has carried out command {}, but the store ends at {}", who,
                         to_text(hold.shown), to_text(hold.known));
    case model::HoldReason::OtherCluster:
      return fmt::format("{} has carried out command {} of another store of this unit", who,
                         to_text(hold.shown));
  }
  return {};
}

Error refusal_while_held(const model::Hold& hold) {
  return {Code::Conflict,
          fmt::format("the control plane is held, nothing can be changed: {}; put the right store "
                      "in place with `berth store restore`, or decide with `berth store adopt` or "
                      "`berth store accept`",
                      to_text(hold))};
}

void compare(Context& context, const model::NodeId& node, const model::Receipt& receipt) {
  const auto hold = what_is_wrong(context, node, receipt);
  if (!hold) return;
  const std::optional<model::Hold> before = context.state.durable().counters.hold;
  if (before && receipt.number <= before->shown) return;
  put_hold(context, hold);
  context.note(before ? NoteKind::HeldOn : NoteKind::Held, std::string(), to_text(*hold));
}

bool is_credible(const Context& context, const ObservedNode& node,
                 const model::CommandNumber& acted) {
  if (acted <= newest_number(context.state.durable().counters)) return true;
  return node.receipt && acted <= node.receipt->number;
}

void look_on(Context& context) {
  context.effects.writes = context.state.seal();
  for (auto& [id, node] : context.nodes) {
    const bool has_gap = node.connection && context.orders.is_asked_fully(id);
    if (!has_gap && !must_be_asked(node)) continue;
    node.asked_for_orders = node.connection;
    model::Command command;
    command.number = node.acted;
    command.base = command.number;
    command.report_fully = true;
    command.report_told = true;
    context.effects.commands.push_back({id, *node.connection, std::move(command)});
  }
}

void record(Context& context, const ReleaseCall& call) {
  const auto released = release(context, call);
  if (!released) {
    Calls::refuse(context, call.call, released.error());
  } else {
    context.calls.answer_when_sealed({.call = call.call});
  }
}

}  // namespace berth::control
