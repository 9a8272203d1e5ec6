#include "control/orders/order_changes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "control/context.h"
#include "control/orders/start_gate.h"
#include "control/orders/wanted.h"
#include "control/rollout/handover.h"
#include "control/rollout/states.h"
#include "control/rollout/trials.h"

namespace berth::control {
namespace {

using Keys = std::set<model::InstanceKey>;

// Of what one command carries; the rest waits for the next.
constexpr std::size_t kStateBytesMax = 32 << 20;

bool needs_other_room(const Order& told, const Order& wanted) {
  return told.version != wanted.version || told.item_edition != wanted.item_edition ||
         told.runtime != wanted.runtime;
}

// One agent's part of the pass.
class Change {
 public:
  Change(Context& context, const model::NodeId& id, GivenOrders& given, Keys keys)
      : context_(context),
        id_(id),
        node_(context.nodes.at(id)),
        given_(given),
        keys_(std::move(keys)) {}

  OrderChanges take() {
    postponed_before_ = std::exchange(given_.postponed, {});
    keys_.insert(postponed_before_.begin(), postponed_before_.end());
    keys_.merge(std::exchange(given_.missed, {}));
    for (const model::InstanceKey& key : keys_) look_at(key);
    find_leaving();
    ask_for_room();
    return std::move(changes_);
  }

 private:
  void look_at(const model::InstanceKey& key) {
    if (const auto wanted = wanted_on(context_, id_, key)) {
      look_at_wanted(key, *wanted);
    } else {
      look_at_unwanted(key);
    }
  }

  void look_at_wanted(const model::InstanceKey& key, const Order& wanted) {
    const auto told = given_.run.find(key);
    if (is_left_alone(context_, key) && runs_as(key, wanted) && !given_.stopping.contains(key)) {
      left_alone_.insert(key);
      if (told != given_.run.end()) look_at_left_alone(key, told->second.what, wanted);
      return;
    }
    if (told != given_.run.end()) {
      look_at_told(key, told->second.what, wanted);
    } else if (runs_as(key, wanted) && !given_.stopping.contains(key)) {
      tell(key, wanted);  // it has its room already
    } else {
      newcomers_.emplace(key, wanted);
    }
  }

  // What needs no other document reaches it nevertheless, as long as we know the one that it has.
  void look_at_left_alone(const model::InstanceKey& key, const Order& told, Order wanted) {
    if (find_former(context_, key, told) == nullptr) return;
    wanted.item_edition = told.item_edition;
    wanted.image = told.image;
    wanted.network = told.network;
    if (told != wanted) tell(key, wanted);
  }

  bool runs_as(const model::InstanceKey& key, const Order& wanted) const {
    const auto reported = node_.reported.find(key);
    return reported != node_.reported.end() && reported->second.version == wanted.version &&
           reported->second.runtime == wanted.runtime && !reported->second.prepare_only;
  }

  void look_at_told(const model::InstanceKey& key, const Order& told, const Order& wanted) {
    if (told == wanted) return;
    if (needs_other_room(told, wanted)) {
      newcomers_.emplace(key, wanted);
    } else {
      tell(key, wanted);
    }
  }

  // A component that we have not told the agent to run is not ours to stop.
  void look_at_unwanted(const model::InstanceKey& key) {
    const auto order = given_.run.find(key);
    const bool told = order != given_.run.end();
    if (told) {
      given_.revoked.insert_or_assign(key, order->second.what);
      given_.run.erase(order);
      is_told_or_not(key);
    }
    changes_.run.erase(key);
    const auto reported = node_.reported.find(key);
    const bool is_ours =
        reported != node_.reported.end() && reported->second.type != model::ItemType::Component;
    if ((told || is_ours) && !given_.stopping.contains(key)) changes_.stop.insert(key);
    if (must_be_erased(key)) changes_.erase.insert(key);
  }

  // Its data go when nothing of it is there any more that could use them.
  bool must_be_erased(const model::InstanceKey& key) const {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    if (record == nullptr || record->phase != model::Phase::Erasing) return false;
    return record->data_on.contains(id_) && !node_.reported.contains(key) &&
           !given_.stopping.contains(key) && !given_.erasing.contains(key) &&
           !changes_.stop.contains(key);
  }

  // As the gate sees it, so that it need not look at everybody where nobody leaves.
  void find_leaving() {
    std::erase_if(given_.leaving, [this](const model::InstanceKey& key) { return !leaves(key); });
    for (const model::InstanceKey& key : keys_) {
      if (leaves(key)) given_.leaving.insert(key);
    }
  }

  bool leaves(const model::InstanceKey& key) const {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    if (record != nullptr && record->place && record->place->node == id_) return false;
    const auto reported = node_.reported.find(key);
    const bool is_ours =
        reported != node_.reported.end() && reported->second.type != model::ItemType::Component;
    return is_ours || given_.run.contains(key) || given_.revoked.contains(key);
  }

  void ask_for_room() {
    GateAnswer answer = ask_gate(context_, id_, newcomers_);
    std::size_t state_bytes = 0;
    for (const model::InstanceKey& key : answer.admitted) {
      const auto state = state_for(context_, id_, key, newcomers_.at(key));
      const std::size_t more = state ? state->content.size() : 0;
      if (state_bytes > 0 && state_bytes + more > kStateBytesMax) {
        answer.postponed.insert(key);
        continue;
      }
      state_bytes += more;
      tell(key, newcomers_.at(key));
    }
    given_.postponed = std::move(answer.postponed);
    tell_who_waits();
    for (const model::InstanceKey& key : given_.postponed) note_waiting(key);
    given_.postponed.merge(left_alone_);
    for (const model::InstanceKey& key : answer.hurried) hurry(key);
  }

  // Their statuses say so.
  void tell_who_waits() {
    std::ranges::set_symmetric_difference(
        postponed_before_, given_.postponed,
        std::inserter(context_.changes.instances, context_.changes.instances.end()));
  }

  // Nothing of it is there that had to be left alone if the rules no longer let it stay. What they
  // have turned down already did run there.
  void note_waiting(const model::InstanceKey& key) {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    const bool is_new = !record->awaits_room && record->place && record->place->node == id_ &&
                        !may_run_on(context_, id_, key);
    if (!is_new || context_.statuses.refusal_of(key) != nullptr) return;
    model::InstanceRecord waiting = *record;
    waiting.awaits_room = true;
    context_.put(waiting);
  }

  void note_told(const model::InstanceKey& key) {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    if (record == nullptr || !record->awaits_room || record->place->node != id_) return;
    model::InstanceRecord told = *record;
    told.awaits_room = false;
    context_.put(told);
  }

  void hurry(const model::InstanceKey& key) {
    model::InstanceRecord record = *context_.state.find<model::InstanceRecord>(key);
    record.leaving->stop_first = true;
    context_.put(record);
    look_at(key);
  }

  void tell(const model::InstanceKey& key, const Order& wanted) {
    const auto told = given_.run.find(key);
    const bool is_news = told == given_.run.end() || needs_other_room(told->second.what, wanted);
    const bool begins_anew = given_.stopping.contains(key) ||
                             (told != given_.run.end() && told->second.what.prepare_only);
    if (told == given_.run.end()) {
      given_.run.emplace(key, GivenOrder{wanted, {}, begins_anew});
    } else {
      told->second = GivenOrder{wanted, {}, begins_anew};
    }
    if (is_news) is_told_or_not(key);
    if (!wanted.network) context_.network.told_without(key);
    note_told(key);
    context_.changes.instances.insert(key);  // until it has acted on that, it proves nothing
    given_.stopping.erase(key);
    given_.revoked.erase(key);
    changes_.stop.erase(key);
    changes_.run.insert(changes_.run.end(), key);  // they mostly come in their order
  }

  // Whatever is on trial here may be late from now on, or no longer.
  void is_told_or_not(const model::InstanceKey& key) {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    const bool is_here = record != nullptr && record->place && record->place->node == id_;
    if (is_here) set_deadline(context_, *record);
  }

  Context& context_;
  const model::NodeId& id_;
  const ObservedNode& node_;
  GivenOrders& given_;
  Keys keys_;
  std::map<model::InstanceKey, Order> newcomers_;
  Keys left_alone_;
  Keys postponed_before_;
  OrderChanges changes_;
};

}  // namespace

bool is_left_alone(const Context& context, const model::InstanceKey& key) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  return record != nullptr && context.rollouts.awaits_restart(context, *record);
}

OrderChanges change_orders(Context& context, const model::NodeId& id, GivenOrders& given,
                           std::set<model::InstanceKey> keys) {
  return Change(context, id, given, std::move(keys)).take();
}

}  // namespace berth::control
