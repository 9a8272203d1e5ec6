#include "bench/clusters.h"

#include <fmt/format.h>

namespace berth::bench {
namespace {

constexpr std::uint32_t kItems = 20;
constexpr std::size_t kZones = 8;

std::string zone(std::size_t number) { return fmt::format("zone={}", number % kZones); }

model::NodeConfig config_for(std::size_t number) {
  model::NodeConfig config;
  config.name = fmt::format("config-{}", number);
  config.node = model::NodeId{fmt::format("node-{:05}", number)};
  config.priority = static_cast<std::int64_t>(number % 3) * 10;
  config.labels = std::set<std::string>{zone(number)};
  return config;
}

model::Node node(std::size_t number) {
  model::Node node;
  node.id = model::NodeId{fmt::format("node-{:05}", number)};
  node.info = plain_node();
  node.info.runtimes.push_back(
      {.id = model::RuntimeId{"process"}, .type = model::RuntimeType::Process});
  return node;
}

model::Item item(std::uint32_t number) {
  model::Item item = plain_item();
  item.id = model::ItemId{fmt::format("item-{:02}", number)};
  item.request.cpu = Dmips{10 + number};
  item.request.ram = Bytes{(1 + number) << 20};
  return item;
}

model::RunRequest request(std::uint32_t number, std::uint32_t instances) {
  model::RunRequest run;
  run.item = model::ItemId{fmt::format("item-{:02}", number)};
  run.priority = number % 3;
  run.instances = instances;
  if (number % 2 == 0) run.labels = {zone(number)};
  return run;
}

}  // namespace

model::Item plain_item() {
  model::Item item;
  item.id = model::ItemId{"plain"};
  item.version = "1.0";
  item.images.push_back({.platform = {.os = "linux", .arch = "amd64"},
                         .runtimes = {},
                         .form = model::OciImage{"images/plain:1"}});
  item.request.cpu = Dmips{1};
  item.request.ram = Bytes{1 << 20};
  return item;
}

model::NodeInfo plain_node() {
  model::NodeInfo info;
  info.capacity = {Dmips{10'000'000}, Bytes{1LL << 40}};
  info.runtimes.push_back({.id = model::RuntimeId{"runc"},
                           .type = model::RuntimeType::Runc,
                           .platform = {.os = "linux", .arch = "amd64"},
                           .limits = {},
                           .primary = true});
  return info;
}

model::Manifest varied_cluster(std::size_t nodes, std::uint32_t instances) {
  model::Manifest manifest;
  model::Deployment deployment{.name = "all", .run = {}};
  for (std::size_t i = 0; i < nodes; ++i) {
    manifest.emplace_back(node(i));
    manifest.emplace_back(config_for(i));
  }
  for (std::uint32_t i = 0; i < kItems; ++i) {
    manifest.emplace_back(item(i));
    deployment.run.push_back(request(i, instances / kItems));
  }
  manifest.emplace_back(std::move(deployment));
  return manifest;
}

}  // namespace berth::bench
