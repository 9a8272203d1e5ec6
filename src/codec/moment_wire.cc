#include "codec/moment_wire.h"

#include <chrono>

#include "codec/wire.h"

namespace berth::codec {
namespace {

using placement::Drain;
using placement::NodeMoment;
using placement::Reachability;

model::InstanceKey key_from(const v1::InstanceKey& key) {
  return {model::ItemId(key.item()), model::SubjectId(key.subject()), key.index()};
}

v1::NodeMoment::Reachability wire_of(Reachability reachability) {
  switch (reachability) {
    case Reachability::Connected: return v1::NodeMoment::CONNECTED;
    case Reachability::Unreachable: return v1::NodeMoment::UNREACHABLE;
    case Reachability::Lost: return v1::NodeMoment::LOST;
  }
  return v1::NodeMoment::CONNECTED;
}

Reachability reachability_from(v1::NodeMoment::Reachability reachability) {
  if (reachability == v1::NodeMoment::UNREACHABLE) return Reachability::Unreachable;
  return reachability == v1::NodeMoment::LOST ? Reachability::Lost : Reachability::Connected;
}

v1::NodeMoment::Drain wire_of(Drain drain) {
  switch (drain) {
    case Drain::No: return v1::NodeMoment::NO;
    case Drain::Gently: return v1::NodeMoment::GENTLY;
    case Drain::Now: return v1::NodeMoment::NOW;
  }
  return v1::NodeMoment::NO;
}

Drain drain_from(v1::NodeMoment::Drain drain) {
  if (drain == v1::NodeMoment::GENTLY) return Drain::Gently;
  return drain == v1::NodeMoment::NOW ? Drain::Now : Drain::No;
}

v1::NodeMoment wire_of(const NodeMoment& node) {
  v1::NodeMoment message;
  message.set_node(node.id.value());
  message.set_reachability(wire_of(node.reachability));
  message.set_cordoned(node.cordoned);
  message.set_drain(wire_of(node.drain));
  message.set_ready(node.ready);
  if (node.primary) message.set_primary(node.primary->value());
  for (const auto& [runtime, since] : node.not_ready_since) {
    (*message.mutable_not_ready_since_us())[runtime.value()] = since.count();
  }
  for (const model::RuntimeId& runtime : node.evicting) message.add_evicting(runtime.value());
  message.set_cpu_overloaded(node.overloaded.cpu);
  message.set_ram_overloaded(node.overloaded.ram);
  *message.mutable_system_usage() = to_wire(node.system_usage);
  return message;
}

NodeMoment node_from(const v1::NodeMoment& message) {
  NodeMoment node{
      .id = model::NodeId(message.node()),
      .reachability = reachability_from(message.reachability()),
      .cordoned = message.cordoned(),
      .drain = drain_from(message.drain()),
      .ready = message.ready(),
      .primary = {},
      .not_ready_since = {},
      .evicting = {},
      .overloaded = {message.cpu_overloaded(), message.ram_overloaded()},
      .system_usage = {Dmips{message.system_usage().cpu()}, Bytes{message.system_usage().ram()}}};
  if (!message.primary().empty()) node.primary = model::RuntimeId(message.primary());
  for (const auto& [runtime, since] : message.not_ready_since_us()) {
    node.not_ready_since.emplace(runtime, std::chrono::microseconds(since));
  }
  for (const std::string& runtime : message.evicting()) node.evicting.emplace(runtime);
  return node;
}

void write_failures(const placement::KnownFailures& failures, v1::ClusterMoment& message) {
  for (const auto& [request, versions] : failures.versions) {
    v1::HeldVersions& one = *message.add_held();
    one.set_item(request.first.value());
    one.set_subject(request.second.value());
    one.set_failed(versions.failed);
    one.set_version(versions.instead.whole);
    one.mutable_version_of()->insert(versions.instead.of.begin(), versions.instead.of.end());
  }
  for (const auto& [key, nodes] : failures.avoided) {
    v1::AvoidedNodes& one = *message.add_avoided();
    *one.mutable_key() = to_wire(key);
    for (const model::NodeId& node : nodes) one.add_nodes(node.value());
  }
}

placement::KnownFailures failures_from(const v1::ClusterMoment& message) {
  placement::KnownFailures failures;
  for (const v1::HeldVersions& one : message.held()) {
    placement::Versions instead{.whole = one.version(), .of = {}};
    instead.of.insert(one.version_of().begin(), one.version_of().end());
    failures.versions.emplace(std::pair{model::ItemId(one.item()), model::SubjectId(one.subject())},
                              placement::FailedVersion{one.failed(), std::move(instead)});
  }
  for (const v1::AvoidedNodes& one : message.avoided()) {
    std::set<model::NodeId>& nodes = failures.avoided[key_from(one.key())];
    for (const std::string& node : one.nodes()) nodes.insert(model::NodeId(node));
  }
  return failures;
}

void write_pool(const placement::PoolMoment& pool, v1::PoolMoment& message) {
  *message.mutable_key() = to_wire(pool.key);
  message.set_item(pool.item.item.value());
  message.set_version(pool.item.version);
  message.set_priority(pool.priority);
  for (const std::string& label : pool.labels) message.add_labels(label);
  for (const model::NodeId& node : pool.nodes) message.add_nodes(node.value());
  message.set_bound(pool.bound);
  message.set_displaces(pool.displaces);
}

placement::PoolMoment pool_from(const v1::PoolMoment& message) {
  placement::PoolMoment pool{.key = key_from(message.key()),
                             .item = {model::ItemId(message.item()), message.version()},
                             .priority = message.priority(),
                             .labels = {message.labels().begin(), message.labels().end()},
                             .nodes = {},
                             .bound = message.bound(),
                             .displaces = message.displaces()};
  for (const std::string& node : message.nodes()) pool.nodes.emplace_back(node);
  return pool;
}

}  // namespace

v1::ClusterMoment to_wire(const placement::Moment& moment) {
  v1::ClusterMoment message;
  for (const NodeMoment& node : moment.nodes) *message.add_nodes() = wire_of(node);
  for (const auto& [key, home] : moment.homes) {
    v1::HomeOfInstance& one = *message.add_homes();
    *one.mutable_key() = to_wire(key);
    one.set_node(home.node.value());
    one.set_has_state(home.has_state);
  }
  for (const auto& [key, place] : moment.bound) {
    v1::BoundInstance& one = *message.add_bound();
    *one.mutable_key() = to_wire(key);
    one.mutable_place()->set_node(place.node.value());
    one.mutable_place()->set_runtime(place.runtime.value());
  }
  for (const model::InstanceKey& key : moment.returning) *message.add_returning() = to_wire(key);
  for (const model::InstanceKey& key : moment.untold) *message.add_untold() = to_wire(key);
  write_failures(moment.failures, message);
  for (const placement::PoolMoment& pool : moment.pools) write_pool(pool, *message.add_pools());
  return message;
}

placement::Moment from_wire(const v1::ClusterMoment& message) {
  placement::Moment moment;
  for (const v1::NodeMoment& node : message.nodes()) moment.nodes.push_back(node_from(node));
  for (const v1::HomeOfInstance& one : message.homes()) {
    moment.homes.emplace(key_from(one.key()),
                         placement::Home{model::NodeId(one.node()), one.has_state()});
  }
  for (const v1::BoundInstance& one : message.bound()) {
    moment.bound.emplace(
        key_from(one.key()),
        model::Place{model::NodeId(one.place().node()), model::RuntimeId(one.place().runtime())});
  }
  for (const v1::InstanceKey& key : message.returning()) moment.returning.insert(key_from(key));
  for (const v1::InstanceKey& key : message.untold()) moment.untold.insert(key_from(key));
  moment.failures = failures_from(message);
  for (const v1::PoolMoment& pool : message.pools()) moment.pools.push_back(pool_from(pool));
  return moment;
}

}  // namespace berth::codec
