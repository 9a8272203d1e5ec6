#pragma once

#include "codec/describe_application.h"
#include "codec/describe_item.h"
#include "codec/describe_override.h"

// Nodes, their configuration, and what shall run on them.
namespace berth::codec {

template <class V, Is<model::RunRequest> T>
void describe(V& v, T& request) {
  auto& [item, version, subject, priority, instances, labels, nodes] = request;
  v.required("item", item, "metadata.name of the item");
  v.field("version", version, "left out: the item's only version", Version{});
  v.field("subject", subject, "whom it runs for");
  v.field("priority", priority, "the higher, the earlier it gets its place", kPriority);
  v.field("instances", CountOr{instances, "all"},
          "how many; all: one on every runtime that matches, for components", Range{0, 1'000'000});
  v.field("labels", labels, "labels that the node must have", Each{Label{}});
  v.field("nodes", nodes, "nodes that may be used; left out: any");
}

template <class V, Is<model::Deployment> T>
void describe(V& v, T& deployment) {
  auto& [name, run] = deployment;
  v.field("run", run, "which items run, and how many of each");
}

template <class V, Is<model::Ratios> T>
void describe(V& v, T& ratios) {
  auto& [cpu, ram, storage, state] = ratios;
  v.field("cpu", cpu, "percent of the quota", kPercent);
  v.field("ram", ram, "percent of the quota", kPercent);
  v.field("storage", storage, "percent of the quota", kPercent);
  v.field("state", state, "percent of the quota", kPercent);
}

template <class V, Is<model::DefaultRequest> T>
void describe(V& v, T& request) {
  auto& [cpu, ram] = request;
  v.field("cpu", cpu, "percent of the node's capacity", kPercent);
  v.field("ram", ram, "percent of the node's capacity", kPercent);
}

template <class V, Is<model::NodeConfig> T>
void describe(V& v, T& config) {
  auto& [name, node, type, priority, labels, ratios, default_request, thresholds, evict_after] =
      config;
  v.group(Presence::Optional, "match", "which nodes it is for: one, a type, or left out all",
          [&](auto& match) {
            match.field("node", config.node, "name of the node");
            match.field("type", config.type, "type of the nodes", Label{});
          });
  v.field("priority", priority, "nodes of higher priority are filled first", kPriority);
  v.field("labels", labels, "labels that requests can ask for", Each{Label{}});
  v.field("ratios", ratios, "part of a quota that is reserved when nothing is requested");
  v.field("defaultRequest", default_request,
          "what is reserved for an instance without request and quota");
  v.field("thresholds", thresholds, "load above which instances are moved away");
  v.field("evictAfter", evict_after,
          "what runs on a runtime that has not been ready for so long goes elsewhere; left out: it "
          "stays",
          Positive{});
}

template <class V, Is<model::InstanceNetwork> T>
void describe(V& v, T& network) {
  auto& [owner, address] = network;
  v.required("owner", owner);
  v.required("address", address);
}

template <class V, Is<model::ProviderNetwork> T>
void describe(V& v, T& network) {
  auto& [owner, vxlan, subnet, node_address, peers] = network;
  v.required("owner", owner);
  v.required("vxlan", vxlan, "", kVxlanId);
  v.required("subnet", subnet);
  v.required("nodeAddress", node_address);
  v.field("peers", peers);
}

template <class V, Is<model::NamedAddress> T>
void describe(V& v, T& named) {
  auto& [address, names] = named;
  v.required("address", address);
  v.field("names", names, "", Each{Name{}});
}

template <class V, Is<model::AllowedFlow> T>
void describe(V& v, T& flow) {
  auto& [from, to, port] = flow;
  v.required("from", from);
  v.required("to", to);
  v.required("port", port);
}

template <class V, Is<model::NodeNetwork> T>
void describe(V& v, T& network) {
  auto& [networks, names, flows] = network;
  v.field("networks", networks);
  v.field("names", names);
  v.field("flows", flows);
}

template <class V, Is<model::Usage> T>
void describe(V& v, T& usage) {
  auto& [cpu, ram] = usage;
  v.field("cpu", cpu, "in DMIPS");
  v.field("ram", ram, "memory");
}

template <class V, Is<model::Partitions> T>
void describe(V& v, T& partitions) {
  auto& [storage, state, same_partition, unit_wide] = partitions;
  v.field("storage", storage, "size for data; left out: not limited");
  v.field("state", state, "size for state; left out: not limited");
  v.field("samePartition", same_partition,
          "data and state share one partition, of the size of storage");
  v.field("unitWide", unit_wide, "one partition for all nodes that say so");
}

template <class V, Is<model::SharedResource> T>
void describe(V& v, T& resource) {
  auto& [name, count] = resource;
  v.required("name", name, "what items ask for", Label{});
  v.field("count", count, "how many instances can have it at once; 0: any number");
}

template <class V, Is<model::RuntimeLimits> T>
void describe(V& v, T& limits) {
  auto& [cpu, ram, instances] = limits;
  v.field("cpu", cpu, "in DMIPS; 0: no limit");
  v.field("ram", ram, "memory; 0: no limit");
  v.field("instances", instances, "number of instances; 0: no limit");
}

template <class V, Is<model::Runtime> T>
void describe(V& v, T& runtime) {
  auto& [id, type, platform, limits, primary, ready, reason, message, grace] = runtime;
  v.required("name", id, "unique on its node");
  v.required("type", type, "what it runs");
  v.field("platform", platform, "what it offers to images");
  v.field("limits", limits, "its own share of the node");
  v.field("primary", primary, "its readiness is the node's");
  v.field("ready", ready, "whether it can start instances");
  v.field("reason", reason, "why it is not Ready, in one word", Label{});
  v.field("message", message, "why it is not Ready");
  v.field("grace", grace,
          "not being ready for a shorter time does not change the node's conditions");
}

template <class V, Is<model::NodeInfo> T>
void describe(V& v, T& info) {
  auto& [type, state, address, capacity, partitions, shared_resources, runtimes, remarks,
         store_problem] = info;
  v.field("type", type, "type of the node, for node configs", Label{});
  v.field("state", state, "whether the node is in use");
  v.field("address", address,
          "where other nodes reach it; left out: instances have no network of their own there");
  v.field("capacity", capacity, "what it has");
  v.field("partitions", partitions, "disk space");
  v.field("sharedResources", shared_resources, "named resources that it offers");
  v.field("runtimes", runtimes, "what can run instances on it");
  v.field("remarks", remarks, "what people should know of it");
  v.field("storeProblem", store_problem,
          "why its agent cannot write: what runs goes on, and nothing new is placed there");
}

template <class V, Is<model::RunningInstance> T>
void describe(V& v, T& running) {
  auto& [key, version, runtime, usage, state_stays, finished] = running;
  v.required("item", key.item, "what runs");
  v.required("version", version, "which version of it", Version{});
  v.field("subject", key.subject, "whom it runs for");
  v.field("index", key.index, "which of several");
  v.required("runtime", runtime, "where on the node");
  v.field("usage", usage, "measured average");
  v.field("stateStays", state_stays, "its state is too large to go along when it moves");
  v.field("finished", finished, "it has done what it was for, by its restart policy");
}

template <class V, Is<model::RestingInstance> T>
void describe(V& v, T& resting) {
  auto& [key, state_stays] = resting;
  v.required("item", key.item, "what ran");
  v.field("subject", key.subject, "whom it ran for");
  v.field("index", key.index, "which of several");
  v.field("stateStays", state_stays, "its state is too large to go along");
}

template <class V, Is<model::Node> T>
void describe(V& v, T& node) {
  auto& [id, info, connected, cordoned, draining, usage, running, resting] = node;
  describe(v, info);
  v.field("connected", connected, "whether the node is in reach");
  v.field("cordoned", cordoned, "nothing new is placed there");
  v.field("draining", draining, "nothing new is placed there, and what runs there goes elsewhere");
  v.field("usage", usage, "measured total, averaged");
  v.field("running", running, "what runs there now");
  v.field("resting", resting, "what does not run, and has left there what it has stored");
}

}  // namespace berth::codec
