#include "bench/worlds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <tuple>

#include "base/random.h"

namespace berth::bench {
namespace {

using model::RuntimeType;

constexpr std::uint64_t kZones = 50;
constexpr std::array kResources{"camera", "lidar", "can", "gpu", "modem", "radio"};
constexpr std::int64_t kMiB = 1 << 20;

std::string zone(std::uint64_t number) { return fmt::format("zone={}", number % kZones); }

void add_node(World& world, std::string name, model::NodeInfo info, model::NodeSettings settings) {
  const model::NodeInfo& kept = world.infos.emplace_back(std::move(info));
  placement::SnapshotNode node;
  node.id = model::NodeId{std::move(name)};
  node.info = &kept;
  node.settings = std::move(settings);
  node.ready = true;
  node.primary = &kept.runtimes.front();
  world.nodes.push_back(std::move(node));
}

model::Runtime runtime(RuntimeType type, const char* arch) {
  model::Runtime runtime;
  runtime.id = model::RuntimeId{std::string(model::to_string(type))};
  runtime.type = type;
  runtime.platform = {.os = "linux", .arch = arch};
  return runtime;
}

model::Item item(std::string name, std::int64_t cpu, std::int64_t ram) {
  model::Item item;
  item.id = model::ItemId{std::move(name)};
  item.version = "1";
  item.images.push_back({.platform = {}, .runtimes = {}, .form = model::OciImage{"image"}});
  item.request.cpu = Dmips{cpu};
  item.request.ram = Bytes{ram};
  return item;
}

void add_run(World& world, model::Item asked, model::RunRequest run, std::size_t count) {
  const model::Item& kept = world.items.emplace_back(std::move(asked));
  run.item = kept.id;
  run.instances = static_cast<std::uint32_t>(count);
  const model::RunRequest& request = world.requests.emplace_back(std::move(run));
  world.runs.push_back({placement::ask_of(request, kept, 0), count});
}

// The higher priority first, then by name.
void put_in_order(World& world) {
  std::ranges::sort(world.runs, [](const WorldRun& a, const WorldRun& b) {
    return placement::scheduled_before(a.request, b.request);
  });
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
  fields.resize(std::max<std::size_t>(fields.size(), 8));
  return fields;
}

std::vector<std::vector<std::string>> rows_of(const std::filesystem::path& file) {
  std::ifstream text(file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(text, line);  // the names of the columns
  while (std::getline(text, line)) rows.push_back(fields_of(line));
  return rows;
}

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::int64_t priority_of(const std::string& quality) {
  if (quality == "Guaranteed") return 3;
  if (quality == "LS") return 2;
  return quality == "Burstable" ? 1 : 0;
}

}  // namespace

std::size_t World::instances() const {
  return std::accumulate(runs.begin(), runs.end(), std::size_t{0},
                         [](std::size_t sum, const WorldRun& run) { return sum + run.count; });
}

World mixed_world(std::size_t nodes, std::size_t instances, std::size_t items, Bound bound) {
  World world;
  Random random(7);
  for (std::size_t i = 0; i < nodes; ++i) {
    model::NodeInfo info;
    const bool is_small = bound == Bound::Ram && random.below(4) != 0;
    info.capacity = {Dmips{random.between(500, 1500) * 100},
                     Bytes{random.between(16, 256) * (is_small ? 8 : 64) * kMiB}};
    info.runtimes.push_back(runtime(random.below(2) == 0 ? RuntimeType::Runc : RuntimeType::Crun,
                                    random.below(2) == 0 ? "amd64" : "arm64"));
    for (const char* resource : kResources) {
      if (random.below(2) == 0) info.shared_resources.push_back({resource, 0});
    }
    model::NodeSettings settings;
    settings.priority = random.between(0, 2);
    settings.labels = {zone(random.below(kZones))};
    add_node(world, fmt::format("node-{:06}", i), std::move(info), std::move(settings));
  }
  for (std::size_t i = 0; i < items; ++i) {
    model::Item asked = item(fmt::format("item-{:04}", i), random.between(1, 40) * 100,
                             random.between(1, 64) * 16 * kMiB);
    if (i % 3 != 2) asked.images.front().platform.arch = i % 3 == 0 ? "arm64" : "amd64";
    if (i % 4 == 0) asked.runtimes = {RuntimeType::Runc};
    if (i % 5 == 0) asked.shared_resources = {kResources[i % kResources.size()]};
    model::RunRequest run;
    run.priority = static_cast<std::int64_t>(i % 3);
    if (i % 2 == 1) run.labels = {zone(i)};
    add_run(world, std::move(asked), std::move(run), instances / items);
  }
  put_in_order(world);
  return world;
}

World alike_world(std::size_t nodes, std::size_t instances) {
  World world;
  for (std::size_t i = 0; i < nodes; ++i) {
    model::NodeInfo info;
    info.capacity = {Dmips{100'000}, Bytes{65'536 * kMiB}};
    info.runtimes.push_back(runtime(RuntimeType::Runc, "amd64"));
    add_node(world, fmt::format("node-{:06}", i), std::move(info), {});
  }
  add_run(world, item("item", 1000, 64 * kMiB), {}, instances);
  return world;
}

World half_unplaceable_world(std::size_t nodes, std::size_t instances) {
  World world = mixed_world(nodes, instances);
  for (std::size_t i = 0; i < world.items.size(); i += 2) {
    world.items[i].request.ram = Bytes{1LL << 50};
  }
  return world;
}

std::optional<World> openb_world(const std::filesystem::path& directory) {
  const auto nodes = rows_of(directory / "openb_node_list_all_node.csv");
  const auto pods = rows_of(directory / "openb_pod_list_default.csv");
  if (nodes.empty() || pods.empty()) return std::nullopt;
  World world;
  for (const auto& node : nodes) {
    model::NodeInfo info;
    info.capacity = {Dmips{number(node[1])}, Bytes{number(node[2]) * kMiB}};
    info.runtimes.push_back(runtime(RuntimeType::Runc, "amd64"));
    if (const std::int64_t gpus = number(node[3]); gpus > 0) {
      info.shared_resources.push_back({"gpu", static_cast<std::uint32_t>(gpus)});
    }
    model::NodeSettings settings;
    if (!node[4].empty()) settings.labels = {"model=" + node[4]};
    add_node(world, node[0], std::move(info), std::move(settings));
  }
  // Pods that ask for the same are instances of one item.
  using Ask = std::tuple<std::int64_t, std::int64_t, bool, std::string, std::int64_t>;
  std::map<Ask, std::size_t> asks;
  for (const auto& pod : pods) {
    const std::string model = pod[5].substr(0, pod[5].find('|'));
    ++asks[{number(pod[1]), number(pod[2]), number(pod[3]) > 0, model, priority_of(pod[6])}];
  }
  for (const auto& [ask, count] : asks) {
    const auto& [cpu, ram, takes_gpu, model, priority] = ask;
    model::Item asked = item(fmt::format("pod-{:04}", world.items.size()), cpu, ram * kMiB);
    if (takes_gpu) asked.shared_resources = {"gpu"};
    model::RunRequest run;
    run.priority = priority;
    if (!model.empty()) run.labels = {"model=" + model};
    add_run(world, std::move(asked), std::move(run), count);
  }
  put_in_order(world);
  return world;
}

}  // namespace berth::bench
