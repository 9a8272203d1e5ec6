#include "placement/random_cluster.h"

#include <fmt/format.h>

#include <array>
#include <set>

namespace berth::placement {
namespace {

using model::RuntimeType;

// Some of it twice, so that it is drawn more often.
constexpr std::array kTypes{RuntimeType::Process, RuntimeType::Process, RuntimeType::Crun,
                            RuntimeType::Vm, RuntimeType::Firmware};
constexpr std::array kLabels{"gpu", "zone=edge"};
constexpr std::array kResources{"camera", "lidar"};
constexpr std::array kArchitectures{"", "amd64", "arm64"};
constexpr std::array kNodeTypes{"board", "vm"};
constexpr std::array kSubjects{"x", "y"};

class Draw {
 public:
  Draw(Random& random, const ClusterShape& shape) : random_(random), shape_(shape) {}

  model::Manifest manifest() {
    draw_partitions();
    draw_items();
    draw_runs();
    draw_nodes();
    draw_configs();
    return std::move(manifest_);
  }

 private:
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  bool trouble() { return random_.chance_ppm(shape_.trouble_ppm); }

  template <class Container>
  auto one_of(const Container& values) {
    return values[random_.below(values.size())];
  }

  template <class Container>
  std::vector<std::string> some_of(const Container& values, std::uint64_t one_in_n) {
    std::vector<std::string> some;
    for (const char* value : values) {
      if (one_in(one_in_n)) some.emplace_back(value);
    }
    return some;
  }

  template <class Q>
  Q amount(std::uint64_t steps) {
    constexpr std::int64_t kStep = 50;
    return Q{static_cast<std::int64_t>(random_.below(steps + 1)) * kStep};
  }

  template <class Q>
  std::optional<Q> maybe(std::uint64_t steps) {
    if (one_in(2)) return std::nullopt;
    return amount<Q>(steps);
  }

  std::optional<std::uint32_t> maybe_percent() {
    if (one_in(2)) return std::nullopt;
    return static_cast<std::uint32_t>(random_.below(101));
  }

  model::Platform platform() {
    model::Platform platform;
    platform.arch = one_of(kArchitectures);
    return platform;
  }

  // One size for all nodes that share the unit-wide partition.
  void draw_partitions() {
    unit_wide_ = {.storage = maybe<Bytes>(12),
                  .state = maybe<Bytes>(12),
                  .same_partition = one_in(3),
                  .unit_wide = true};
  }

  model::Image image() {
    model::Image image;
    if (one_in(2)) image.platform = platform();
    image.form = model::CommandImage{{"run"}};
    image.runtimes = {one_of(kTypes)};
    if (one_in(2)) image.runtimes.push_back(one_of(kTypes));
    if (image.runtimes.front() == image.runtimes.back()) image.runtimes.resize(1);
    return image;
  }

  model::Item item(const std::string& id, const std::string& version) {
    model::Item item;
    item.id = model::ItemId{id};
    item.version = version;
    item.images.push_back(image());
    if (one_in(3)) item.images.push_back(image());
    item.quotas = {maybe<Dmips>(8), maybe<Bytes>(8), maybe<Bytes>(4), maybe<Bytes>(4)};
    item.request = {maybe<Dmips>(8), maybe<Bytes>(8), {}, {}};
    item.skip_resource_limits = one_in(12);
    item.shared_resources = some_of(kResources, 5);
    if (one_in(6)) item.balancing = model::Balancing::Disabled;
    if (one_in(8)) item.tolerates.insert(model::Toleration::NodeNotReady);
    if (one_in(8)) item.tolerates.insert(model::Toleration::RuntimeNotReady);
    return item;
  }

  void draw_items() {
    const std::uint64_t count = 1 + random_.below(shape_.items_max);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string id = fmt::format("item-{}", i);
      const auto type = one_in(6) ? model::ItemType::Component : model::ItemType::Service;
      const std::uint64_t versions = one_in(3) ? 2 : 1;
      for (std::uint64_t version = 1; version <= versions; ++version) {
        items_.push_back(item(id, fmt::format("{}", version)));
        items_.back().type = type;
        manifest_.emplace_back(items_.back());
      }
    }
  }

  void draw_runs() {
    std::set<std::pair<model::ItemId, model::SubjectId>> asked;
    const std::uint64_t count = 1 + random_.below(shape_.requests_max);
    for (std::uint64_t i = 0; i < count; ++i) {
      const model::Item& item = items_[random_.below(items_.size())];
      model::RunRequest run;
      run.item = item.id;
      run.version = item.version;
      run.subject = model::SubjectId{one_of(kSubjects)};
      if (!asked.emplace(run.item, run.subject).second) continue;
      run.priority = random_.between(0, 3);
      run.instances = static_cast<std::uint32_t>(random_.below(shape_.instances_max + 1));
      if (item.type == model::ItemType::Component && one_in(2)) run.instances = std::nullopt;
      run.labels = some_of(kLabels, 5);
      if (one_in(8)) run.nodes = {model::NodeId{"n-1"}, model::NodeId{"n-2"}};
      runs_.push_back(run);
      manifest_.emplace_back(model::Deployment{fmt::format("run-{}", i), {run}});
    }
  }

  model::Runtime runtime(std::uint64_t index) {
    model::Runtime runtime;
    runtime.id = model::RuntimeId{std::string(1, "cab"[index])};
    runtime.type = one_of(kTypes);
    runtime.platform = platform();
    if (one_in(3)) runtime.limits.cpu = amount<Dmips>(12);
    if (one_in(3)) runtime.limits.ram = amount<Bytes>(12);
    if (one_in(3)) runtime.limits.instances = static_cast<std::uint32_t>(random_.below(4));
    if (trouble()) runtime.ready = model::Readiness::NotReady;
    if (trouble()) runtime.ready = model::Readiness::Unknown;
    return runtime;
  }

  model::Partitions partitions() {
    if (one_in(4)) return unit_wide_;
    if (one_in(3)) return {};
    return {.storage = maybe<Bytes>(12),
            .state = maybe<Bytes>(12),
            .same_partition = one_in(4),
            .unit_wide = false};
  }

  model::Node node(std::uint64_t index) {
    model::Node node;
    node.id = model::NodeId{fmt::format("n-{}", index)};
    node.info.type = one_of(kNodeTypes);
    if (trouble()) node.info.state = model::NodeState::Paused;
    node.connected = !trouble();
    node.cordoned = trouble();
    node.info.capacity = usage(20);
    if (!one_in(6)) node.info.capacity = node.info.capacity + model::Usage{Dmips{300}, Bytes{300}};
    node.info.partitions = partitions();
    for (const std::string& name : some_of(kResources, 2)) {
      node.info.shared_resources.push_back({name, static_cast<std::uint32_t>(random_.below(3))});
    }
    const std::uint64_t runtimes = trouble() ? 0 : 1 + random_.below(3);
    for (std::uint64_t i = 0; i < runtimes; ++i) node.info.runtimes.push_back(runtime(i));
    if (runtimes > 0 && one_in(2)) node.info.runtimes[random_.below(runtimes)].primary = true;
    return node;
  }

  model::Usage usage(std::uint64_t steps) { return {amount<Dmips>(steps), amount<Bytes>(steps)}; }

  void run_somewhere(std::vector<model::Node>& nodes, const model::RunRequest& run,
                     std::uint32_t index) {
    if (!random_.chance_ppm(shape_.running_ppm)) return;
    model::Node& node = nodes[random_.below(nodes.size())];
    const auto& runtimes = node.info.runtimes;
    const bool known = !runtimes.empty() && !trouble();
    node.running.push_back(
        {.key = {run.item, run.subject, index},
         .version = one_in(4) ? "1" : run.version,
         .runtime = known ? runtimes[random_.below(runtimes.size())].id : model::RuntimeId{"gone"},
         .usage = usage(6)});
  }

  void draw_nodes() {
    std::vector<model::Node> nodes;
    const std::uint64_t count = 1 + random_.below(shape_.nodes_max);
    // In no order of their names, which no decision may depend on.
    for (std::uint64_t i = 0; i < count; ++i) {
      nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(random_.below(i + 1)), node(i));
    }
    for (const model::RunRequest& run : runs_) {
      // One more than is asked for, sometimes, so that there is something to stop.
      const std::uint32_t instances = run.instances.value_or(2) + (one_in(6) ? 1 : 0);
      for (std::uint32_t i = 0; i < instances; ++i) run_somewhere(nodes, run, i);
    }
    for (model::Node& node : nodes) {
      if (one_in(2)) node.usage = usage(12);
      manifest_.emplace_back(std::move(node));
    }
  }

  std::optional<model::ThresholdRule> maybe_threshold() {
    if (one_in(2)) return std::nullopt;
    const auto min = static_cast<std::uint32_t>(random_.between(40, 80));
    return model::ThresholdRule{.min = min, .max = min + 10, .timeout = 0s};
  }

  model::NodeConfig config(std::string name) {
    model::NodeConfig config;
    config.name = std::move(name);
    if (one_in(2)) config.priority = random_.between(0, 2);
    if (one_in(2)) {
      const auto labels = some_of(kLabels, 2);
      config.labels.emplace(labels.begin(), labels.end());
    }
    if (one_in(3)) {
      config.ratios = {maybe_percent(), maybe_percent(), maybe_percent(), maybe_percent()};
    }
    if (one_in(3)) config.default_request = {maybe_percent(), maybe_percent()};
    if (one_in(2)) config.thresholds = {maybe_threshold(), maybe_threshold()};
    return config;
  }

  void draw_configs() {
    if (one_in(2)) manifest_.emplace_back(config("everywhere"));
    for (const char* type : kNodeTypes) {
      if (!one_in(3)) continue;
      model::NodeConfig by_type = config(fmt::format("type-{}", type));
      by_type.type = type;
      manifest_.emplace_back(std::move(by_type));
    }
    for (const char* node : {"n-0", "n-1", "n-3"}) {
      if (!one_in(2)) continue;
      model::NodeConfig by_node = config(fmt::format("node-{}", node));
      by_node.node = model::NodeId{node};
      manifest_.emplace_back(std::move(by_node));
    }
  }

  Random& random_;
  const ClusterShape& shape_;
  model::Manifest manifest_;
  std::vector<model::Item> items_;
  std::vector<model::RunRequest> runs_;
  model::Partitions unit_wide_;
};

}  // namespace

model::Manifest random_cluster(Random& random, const ClusterShape& shape) {
  return Draw(random, shape).manifest();
}

}  // namespace berth::placement
