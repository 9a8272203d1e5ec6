#include <iterator>

#include "control/network/holders.h"
#include "control/network/topology.h"
#include "control/passes.h"

namespace berth::control {
namespace {

using Keys = std::set<model::InstanceKey>;

bool is_said_by_record(const Context& context, const model::NodeId& node,
                       const model::InstanceKey& key) {
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr) return false;
  return (record->place && record->place->node == node) ||
         (record->leaving && record->leaving->place.node == node);
}

// Remembers where instances are though their records do not say so.
void note_sightings(Context& context) {
  auto& elsewhere = context.networks.elsewhere;
  for (const auto& [node, key] : context.dirty.wanted) {
    if (is_present(context, node, key) && !is_said_by_record(context, node, key)) {
      elsewhere[key].insert(node);
    } else if (const auto known = elsewhere.find(key); known != elsewhere.end()) {
      known->second.erase(node);
      if (known->second.empty()) elsewhere.erase(known);
    }
  }
}

// After a start everything is looked at once.
Keys build(Context& context) {
  context.networks.built = true;
  Keys keys;
  for (const auto& [key, record] : context.state.durable().instances) keys.insert(keys.end(), key);
  for (const auto& [key, address] : context.state.durable().node_addresses) {
    context.dirty.networks.insert(key.second);
  }
  return keys;
}

Keys keys_to_look_at(Context& context) {
  Keys keys = context.networks.built ? Keys{} : build(context);
  keys.insert(context.dirty.statuses.begin(), context.dirty.statuses.end());
  auto beside = keys.begin();  // those of a node come in order
  for (const auto& [node, key] : context.dirty.wanted) beside = std::next(keys.insert(beside, key));
  // As long as a node has not told what it runs, it may run anything.
  if (!context.networks.all_heard && context.unheard.empty()) {
    context.networks.all_heard = true;
    keys.insert(context.networks.retiring.begin(), context.networks.retiring.end());
  }
  return keys;
}

}  // namespace

void network_pass(Context& context) {
  if (!context.settled) return;
  note_sightings(context);
  Keys keys = keys_to_look_at(context);
  update_holders(context, keys);
  update_topology(context, keys);
}

}  // namespace berth::control
