#include "sim/flapping.h"

#include <fmt/format.h>

#include "sim/draw.h"
#include "sim/settle.h"

namespace berth::sim {
namespace {

constexpr std::uint64_t kFlappingStream = 0x666c617070696e67;
constexpr std::size_t kNodes = 100;
constexpr Duration kSlowHeart = 60s;  // of agents: readiness is pushed, not polled
constexpr std::uint32_t kInstancesMax = 20;

model::Runtime a_runtime(model::RuntimeType type) {
  return {.id = model::RuntimeId(model::to_string(type)), .type = type};
}

Cluster a_cluster(std::size_t nodes) {
  Cluster cluster;
  for (std::size_t i = 0; i < nodes; ++i) {
    model::Node node;
    node.id = model::NodeId(fmt::format("n{:03}", i));
    node.info.capacity = {Dmips(1000), Bytes(1 << 30)};
    node.info.runtimes = {a_runtime(model::RuntimeType::Runc), a_runtime(model::RuntimeType::Vm)};
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

model::Item an_item(const std::string& id, model::ImageForm form) {
  model::Item item;
  item.id = model::ItemId(id);
  item.version = "1.0";
  item.images.push_back({.platform = {}, .runtimes = {}, .form = std::move(form)});
  item.request.cpu = Dmips(100);
  return item;
}

class Flapping {
 public:
  Flapping(World& world, Random random) : world_(world), random_(random) {
    for (const auto& [node, host] : world.agents()) machines_.push_back(&host->machine());
  }

  void run_for(Duration duration) {
    const Time end = world_.now() + duration;
    Time next_call = world_.now();
    while (world_.now() < end && world_.violations().empty()) {
      if (world_.now() >= next_call) {
        world_.call(ask_for_another_number());
        next_call = world_.now() + draw(random_, 1min, 60min);
      }
      flap();
      world_.run_for(draw_around(random_, 40s));
    }
  }

 private:
  control::Event ask_for_another_number() {
    const model::Item items[] = {
        an_item("container", model::OciImage{"image"}),
        an_item("guest",
                model::VmImage{.kernel = "kernel", .initrd = "", .disk = "", .cmdline = ""})};
    control::ApplyCall call{.call = ++calls_, .documents = {}, .if_revision = {}};
    model::Deployment deployment{.name = "all", .run = {}};
    for (const model::Item& item : items) {
      model::RunRequest run;
      run.item = item.id;
      run.version = item.version;
      run.instances = static_cast<std::uint32_t>(1 + random_.below(kInstancesMax));
      deployment.run.push_back(run);
      call.documents.emplace_back(item);
    }
    call.documents.emplace_back(deployment);
    return call;
  }

  // A runtime goes and comes several times, and stays in the end as it began.
  void flap() {
    Machine& machine = *machines_[random_.below(machines_.size())];
    const auto& runtimes = machine.info().runtimes;
    const model::RuntimeId runtime = runtimes[random_.below(runtimes.size())].id;
    const std::uint64_t times = 1 + random_.below(6);
    for (std::uint64_t i = 0; i < times && world_.violations().empty(); ++i) {
      machine.set_readiness(runtime, draw_percent(random_, 60) ? model::Readiness::NotReady
                                                               : model::Readiness::Unknown);
      world_.run_for(draw(random_, 1ms, 6s));
      machine.set_readiness(runtime, model::Readiness::Ready);
      world_.run_for(draw(random_, 1ms, 6s));
    }
  }

  World& world_;
  Random random_;
  std::vector<Machine*> machines_;
  std::uint64_t calls_ = 0;
};

}  // namespace

Outcome simulate_flapping(const Setup& given) {
  Setup setup = given;
  setup.faults = {};
  setup.heartbeat = kSlowHeart;
  const Cluster cluster = a_cluster(setup.nodes.value_or(kNodes));
  World world(setup, cluster);
  world.run_for(2 * kSlowHeart);
  Flapping(world, Random(setup.seed ^ kFlappingStream)).run_for(setup.faulty);
  settle_and_rest(world);
  Outcome outcome = outcome_of(setup, cluster, world);
  outcome.replay = fmt::format("berth-sim --flapping --seed {} --nodes {} --minutes {}", setup.seed,
                               cluster.nodes.size(), setup.faulty / 60s);
  return outcome;
}

}  // namespace berth::sim
