#include "sim/cluster.h"

#include <fmt/format.h>

#include <string>

#include "sim/draw.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

model::Runtime runtime(const char* name, model::RuntimeType type, const std::string& arch) {
  model::Runtime runtime;
  runtime.id = model::RuntimeId(name);
  runtime.type = type;
  runtime.platform.os = "linux";
  runtime.platform.arch = arch;
  return runtime;
}

model::RuntimeLimits draw_limits(Random& random) {
  model::RuntimeLimits limits;
  if (draw_percent(random, 20)) limits.cpu = Dmips(random.between(1000, 6000));
  if (draw_percent(random, 20)) limits.ram = Bytes(random.between(256, 2048) * kMiB);
  if (draw_percent(random, 30)) {
    limits.instances = static_cast<std::uint32_t>(random.between(2, 8));
  }
  return limits;
}

std::vector<model::Runtime> draw_runtimes(Random& random) {
  const std::string arch = draw_percent(random, 80) ? "amd64" : "arm64";
  std::vector<model::Runtime> runtimes{runtime("runc", model::RuntimeType::Runc, arch)};
  if (draw_percent(random, 40)) {
    runtimes.push_back(runtime("crun", model::RuntimeType::Crun, arch));
  }
  if (draw_percent(random, 50)) {
    runtimes.push_back(runtime("process", model::RuntimeType::Process, arch));
  }
  if (draw_percent(random, 60)) {
    runtimes.push_back(runtime("rootfs", model::RuntimeType::Rootfs, arch));
  }
  for (model::Runtime& each : runtimes) {
    if (kind_of(each.type) == model::RuntimeKind::Container) each.limits = draw_limits(random);
  }
  runtimes.front().primary = draw_percent(random, 50);
  return runtimes;
}

model::Partitions draw_partitions(Random& random, bool unit_wide) {
  // Sizes of a partition that all nodes share must agree.
  if (unit_wide) {
    return {.storage = Bytes(4096 * kMiB), .state = Bytes(64 * kMiB), .unit_wide = true};
  }
  model::Partitions partitions;
  if (draw_percent(random, 70)) partitions.storage = Bytes(random.between(128, 2048) * kMiB);
  if (draw_percent(random, 70)) partitions.state = Bytes(random.between(8, 64) * kMiB);
  partitions.same_partition = partitions.storage && draw_percent(random, 30);
  return partitions;
}

model::Node draw_node(Random& random, std::size_t index, bool unit_wide) {
  model::Node node;
  node.id = model::NodeId(fmt::format("n{}", index + 1));
  node.info.type = draw_percent(random, 70) ? "edge" : "hub";
  node.info.capacity = {Dmips(random.between(2000, 12'000)),
                        Bytes(random.between(512, 4096) * kMiB)};
  node.info.runtimes = draw_runtimes(random);
  node.info.partitions = draw_partitions(random, unit_wide && draw_percent(random, 70));
  if (draw_percent(random, 60)) {
    node.info.shared_resources.push_back(
        {"camera", static_cast<std::uint32_t>(random.between(1, 2))});
  }
  if (draw_percent(random, 40)) node.info.shared_resources.push_back({"bus", 0});
  if (draw_percent(random, 80)) {
    node.info.address = model::Ipv4{0xc0a80001 + static_cast<std::uint32_t>(index)};
  }
  return node;
}

model::NodeConfig config_of(Random& random, const model::NodeId& node) {
  model::NodeConfig config;
  config.name = "of-" + node.value();
  config.node = node;
  config.labels.emplace();
  if (draw_percent(random, 50)) config.labels->insert("zone=edge");
  if (draw_percent(random, 50)) config.labels->insert("gpu=true");
  if (draw_percent(random, 40)) config.priority = random.between(0, 2) * 50;
  return config;
}

model::NodeConfig system_wide(Random& random) {
  model::NodeConfig config;
  config.name = "everywhere";
  if (draw_percent(random, 50)) {
    config.ratios.emplace();
    config.ratios->cpu = static_cast<std::uint32_t>(random.between(20, 100));
    config.ratios->ram = static_cast<std::uint32_t>(random.between(20, 100));
  }
  if (draw_percent(random, 40)) config.default_request = model::DefaultRequest{.cpu = 5, .ram = 5};
  return config;
}

// The component that a component runtime came with from the factory.
model::InstanceSpec factory_component(const model::NodeId& node, const model::RuntimeId& runtime) {
  model::InstanceSpec spec;
  spec.key = {model::ItemId("factory-" + runtime.value()), model::SubjectId(node.value()), 0};
  spec.item.id = spec.key.item;
  spec.item.type = model::ItemType::Component;
  spec.item.version = "0.9";
  spec.runtime = runtime;
  return spec;
}

}  // namespace

Cluster draw_cluster(Random random, std::size_t node_count) {
  Cluster cluster;
  cluster.configs.push_back(system_wide(random));
  const bool unit_wide = draw_percent(random, 25);
  for (std::size_t i = 0; i < node_count; ++i) {
    Random stream = random.fork();
    const model::Node& node = cluster.nodes.emplace_back(draw_node(stream, i, unit_wide));
    if (draw_percent(stream, 70)) cluster.configs.push_back(config_of(stream, node.id));
    for (const model::Runtime& each : node.info.runtimes) {
      if (kind_of(each.type) != model::RuntimeKind::Component || draw_percent(stream, 50)) continue;
      cluster.preinstalled[node.id].push_back(factory_component(node.id, each.id));
    }
  }
  return cluster;
}

}  // namespace berth::sim
