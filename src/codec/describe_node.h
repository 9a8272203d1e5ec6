#pragma once

#include "codec/describe_item.h"

// Nodes, their configuration, and what shall run on them.
namespace berth::codec {

template <class V, Is<model::RunRequest> T>
void describe(V& v, T& request) {
  v.required("item", request.item, "metadata.name of the item");
  v.field("version", request.version, "left out: the item's only version", Version{});
  v.field("subject", request.subject, "whom it runs for");
  v.field("priority", request.priority, "the higher, the earlier it gets its place", kPriority);
  v.field("instances", AllOr{request.instances},
          "how many; all: one on every runtime that matches, for components", Range{0, 1'000'000});
  v.field("labels", request.labels, "labels that the node must have", Each{Label{}});
  v.field("nodes", request.nodes, "nodes that may be used; left out: any");
}

template <class V, Is<model::Deployment> T>
void describe(V& v, T& deployment) {
  v.field("run", deployment.run, "which items run, and how many of each");
}

template <class V, Is<model::Ratios> T>
void describe(V& v, T& ratios) {
  v.field("cpu", ratios.cpu, "percent of the quota", kPercent);
  v.field("ram", ratios.ram, "percent of the quota", kPercent);
  v.field("storage", ratios.storage, "percent of the quota", kPercent);
  v.field("state", ratios.state, "percent of the quota", kPercent);
}

template <class V, Is<model::DefaultRequest> T>
void describe(V& v, T& request) {
  v.field("cpu", request.cpu, "percent of the node's capacity", kPercent);
  v.field("ram", request.ram, "percent of the node's capacity", kPercent);
}

template <class V, Is<model::NodeConfig> T>
void describe(V& v, T& config) {
  v.group(Presence::Optional, "match", "which nodes it is for: one, a type, or left out all",
          [&](auto& match) {
            match.field("node", config.node, "name of the node");
            match.field("type", config.type, "type of the nodes", Label{});
          });
  v.field("priority", config.priority, "nodes of higher priority are filled first", kPriority);
  v.field("labels", config.labels, "labels that requests can ask for", Each{Label{}});
  v.field("ratios", config.ratios, "part of a quota that is reserved when nothing is requested");
  v.field("defaultRequest", config.default_request,
          "what is reserved for an instance without request and quota");
  v.field("thresholds", config.thresholds, "load above which instances are moved away");
}

template <class V, Is<model::Usage> T>
void describe(V& v, T& usage) {
  v.field("cpu", usage.cpu, "in DMIPS");
  v.field("ram", usage.ram, "memory");
}

template <class V, Is<model::Partitions> T>
void describe(V& v, T& partitions) {
  v.field("storage", partitions.storage, "size for data; left out: not limited");
  v.field("state", partitions.state, "size for state; left out: not limited");
  v.field("samePartition", partitions.same_partition,
          "data and state share one partition, of the size of storage");
  v.field("unitWide", partitions.unit_wide, "one partition for all nodes that say so");
}

template <class V, Is<model::SharedResource> T>
void describe(V& v, T& resource) {
  v.required("name", resource.name, "what items ask for", Label{});
  v.field("count", resource.count, "how many instances can have it at once; 0: any number");
}

template <class V, Is<model::RuntimeLimits> T>
void describe(V& v, T& limits) {
  v.field("cpu", limits.cpu, "in DMIPS; 0: no limit");
  v.field("ram", limits.ram, "memory; 0: no limit");
  v.field("instances", limits.instances, "number of instances; 0: no limit");
}

template <class V, Is<model::Runtime> T>
void describe(V& v, T& runtime) {
  v.required("name", runtime.id, "unique on its node");
  v.required("type", runtime.type, "what it runs");
  v.field("platform", runtime.platform, "what it offers to images");
  v.field("limits", runtime.limits, "its own share of the node");
  v.field("primary", runtime.primary, "its readiness is the node's");
  v.field("ready", runtime.ready, "whether it can start instances");
}

template <class V, Is<model::NodeInfo> T>
void describe(V& v, T& info) {
  v.field("type", info.type, "type of the node, for node configs", Label{});
  v.field("state", info.state, "whether the node is in use");
  v.field("capacity", info.capacity, "what it has");
  v.field("partitions", info.partitions, "disk space");
  v.field("sharedResources", info.shared_resources, "named resources that it offers");
  v.field("runtimes", info.runtimes, "what can run instances on it");
}

template <class V, Is<model::RunningInstance> T>
void describe(V& v, T& running) {
  v.required("item", running.key.item, "what runs");
  v.required("version", running.version, "which version of it", Version{});
  v.field("subject", running.key.subject, "whom it runs for");
  v.field("index", running.key.index, "which of several");
  v.required("runtime", running.runtime, "where on the node");
  v.field("usage", running.usage, "measured average");
}

template <class V, Is<model::Node> T>
void describe(V& v, T& node) {
  describe(v, node.info);
  v.field("connected", node.connected, "whether the node is in reach");
  v.field("cordoned", node.cordoned, "nothing new is placed there");
  v.field("usage", node.usage, "measured total, averaged");
  v.field("running", node.running, "what runs there now");
}

}  // namespace berth::codec
