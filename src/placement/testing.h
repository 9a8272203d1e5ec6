#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/manifest.h"
#include "placement/plan.h"
#include "placement/snapshot.h"

// Builders with defaults for the tests of placement: `a_node("n1").with_cpu(4000)`.
namespace berth::placement {

inline model::Runtime a_runtime(const char* id,
                                model::RuntimeType type = model::RuntimeType::Process) {
  model::Runtime runtime;
  runtime.id = model::RuntimeId{id};
  runtime.type = type;
  return runtime;
}

// A connected node that is Ready, with much room and one runtime for commands, `p`.
class NodeBuilder {
 public:
  explicit NodeBuilder(const char* id) {
    node_.id = model::NodeId{id};
    node_.info.capacity = {Dmips{1000}, Bytes{1000}};
    node_.info.runtimes = {a_runtime("p")};
  }

  NodeBuilder& with_cpu(std::int64_t cpu) { return node_.info.capacity.cpu = Dmips{cpu}, *this; }
  NodeBuilder& with_ram(std::int64_t ram) { return node_.info.capacity.ram = Bytes{ram}, *this; }
  NodeBuilder& with_runtimes(std::vector<model::Runtime> runtimes) {
    return node_.info.runtimes = std::move(runtimes), *this;
  }
  NodeBuilder& with_partitions(const model::Partitions& partitions) {
    return node_.info.partitions = partitions, *this;
  }
  NodeBuilder& with_resource(const char* name, std::uint32_t count) {
    return node_.info.shared_resources.push_back({name, count}), *this;
  }
  NodeBuilder& running(const char* item, std::uint32_t index, const char* runtime = "p") {
    return node_.running.push_back({.key = {model::ItemId{item}, model::SubjectId{"x"}, index},
                                    .version = "1",
                                    .runtime = model::RuntimeId{runtime},
                                    .usage = {}}),
           *this;
  }

  const model::Node& build() const { return node_; }
  operator model::Document() const { return node_; }  // NOLINT

 private:
  model::Node node_;
};

// A service of version 1 that asks for nothing and runs a command.
class ItemBuilder {
 public:
  explicit ItemBuilder(const char* id) {
    item_.id = model::ItemId{id};
    item_.version = "1";
    item_.images.resize(1);
    item_.images.front().form = model::CommandImage{{"run"}};
  }

  ItemBuilder& of_type(model::ItemType type) { return item_.type = type, *this; }
  ItemBuilder& with_version(const char* version) { return item_.version = version, *this; }
  ItemBuilder& asking_cpu(std::int64_t cpu) { return item_.request.cpu = Dmips{cpu}, *this; }
  ItemBuilder& asking_ram(std::int64_t ram) { return item_.request.ram = Bytes{ram}, *this; }
  ItemBuilder& with_quotas(const model::ResourceSpec& quotas) {
    return item_.quotas = quotas, *this;
  }
  ItemBuilder& sharing(std::vector<std::string> resources) {
    return item_.shared_resources = std::move(resources), *this;
  }
  ItemBuilder& skipping_limits() { return item_.skip_resource_limits = true, *this; }
  ItemBuilder& pinned() { return item_.balancing = model::Balancing::Disabled, *this; }

  const model::Item& build() const { return item_; }
  operator model::Document() const { return item_; }  // NOLINT

 private:
  model::Item item_;
};

inline NodeBuilder a_node(const char* id) { return NodeBuilder(id); }
inline ItemBuilder an_item(const char* id) { return ItemBuilder(id); }

struct RunSpec {
  std::int64_t priority = 0;
  std::optional<std::uint32_t> instances = 1;
};

// A deployment of its own for the subject `x`.
inline model::Document a_run(const char* item, const RunSpec& spec = {}) {
  model::RunRequest run;
  run.item = model::ItemId{item};
  run.subject = model::SubjectId{"x"};
  run.priority = spec.priority;
  run.instances = spec.instances;
  return model::Deployment{item, {run}};
}

inline model::InstanceKey key(const char* item, std::uint32_t index = 0) {
  return {model::ItemId{item}, model::SubjectId{"x"}, index};
}

inline Plan plan_of(const model::Manifest& manifest, const Options& options = {}) {
  return make_plan(snapshot_of(manifest), options);
}

// Where the plan places the instance, "n1/p"; empty if nowhere.
inline std::string place_of(const Plan& plan, const model::InstanceKey& instance) {
  for (const Placement& placement : plan.placements) {
    if (placement.key == instance) return model::to_string(placement.place);
  }
  return "";
}

inline const Refusal* refusal_of(const Plan& plan, const model::InstanceKey& instance) {
  for (const Refusal& refusal : plan.refused) {
    if (refusal.key == instance) return &refusal;
  }
  return nullptr;
}

// The cluster when the plan has been carried out: everything runs where it was placed, what was
// left alone runs on, and the rest of the machines is as busy as before.
inline model::Manifest carried_out(model::Manifest manifest, const Plan& plan) {
  const Snapshot before = snapshot_of(manifest);
  const std::vector<SnapshotNode> views = before.nodes;
  const auto present = before.present;
  std::size_t position = 0;
  for (model::Document& document : manifest) {
    auto* node = std::get_if<model::Node>(&document);
    if (node == nullptr) continue;
    if (node->usage) node->usage = views[position].system_usage;
    ++position;
    node->running.clear();
    for (const Placement& placement : plan.placements) {
      if (placement.place.node != node->id) continue;
      node->running.push_back({placement.key, placement.version, placement.place.runtime, {}});
    }
    for (const Refusal& refusal : plan.refused) {
      if (!refusal.left_running || present.at(refusal.key).place.node != node->id) continue;
      const Present& left = present.at(refusal.key);
      node->running.push_back({refusal.key, left.version, left.place.runtime, {}});
    }
  }
  return manifest;
}

}  // namespace berth::placement
