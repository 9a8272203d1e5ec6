#include <fmt/format.h>

#include "base/check.h"
#include "bench/bench.h"
#include "bench/clusters.h"
#include "control/controller.h"

namespace berth::bench {
namespace {

constexpr std::uint32_t kNodes = 10;
constexpr std::size_t kStatuses = 2'000;

// A controller with so many active instances, fed with true reports.
class Cluster {
 public:
  explicit Cluster(std::uint32_t instances) : controller_({}, {}) {
    for (std::uint32_t i = 0; i < kNodes; ++i) join(model::NodeId{fmt::format("node-{}", i)});
    deploy(instances);
    for (const auto& [key, record] : controller_.durable().instances) {
      failed_.push_back(false);
      keys_.push_back({record.place->node, key});
      report(record.place->node, key, model::InstanceState::Active);
    }
  }

  // One status after the other, all over the unit; each one changes what its instance has shown.
  void change_statuses(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (next_++ * 7919) % keys_.size();
      failed_[at] = !failed_[at];
      const auto& [node, key] = keys_[at];
      report(node, key, failed_[at] ? model::InstanceState::Failed : model::InstanceState::Active);
    }
  }

 private:
  void step(control::Event event) {
    now_ += 1us;
    controller_.step(now_, std::span(&event, 1));
  }

  void join(const model::NodeId& node) {
    step(control::NodeConnected{node, 1});
    model::Report report{.boot_id = "boot", .revision = 1, .full = true, .node = plain_node()};
    step(control::NodeReported{node, 1, report});
    revisions_[node] = 1;
  }

  void deploy(std::uint32_t instances) {
    model::RunRequest run{.item = model::ItemId{"plain"}, .instances = instances};
    model::Manifest documents{plain_item(), model::Deployment{"all", {run}}};
    step(control::ApplyCall{1, std::move(documents), {}});
    CHECK(controller_.durable().instances.size() == instances, "all are placed");
  }

  void report(const model::NodeId& node, const model::InstanceKey& key,
              model::InstanceState state) {
    model::Report report{.boot_id = "boot", .revision = ++revisions_[node]};
    report.acted = {1, controller_.durable().counters.revision};
    report.instances.push_back(
        {.key = key, .version = "1.0", .runtime = model::RuntimeId{"runc"}, .state = state});
    step(control::NodeReported{node, 1, std::move(report)});
  }

  control::Controller controller_;
  Time now_{};
  std::map<model::NodeId, std::uint64_t> revisions_;
  std::vector<std::pair<model::NodeId, model::InstanceKey>> keys_;
  std::vector<bool> failed_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Row> step_per_status() {
  std::vector<Row> rows;
  double small = 0;
  for (const std::uint32_t instances : {100, 1'000, 10'000, 100'000}) {
    Cluster cluster(instances);
    const double seconds = seconds_per(kStatuses, [&] { cluster.change_statuses(kStatuses); });
    if (rows.empty()) small = seconds;
    rows.push_back({fmt::format("{} instances", instances), seconds * 1e6, "us per status",
                    fmt::format("{:.2f} x the smallest", seconds / small)});
  }
  return rows;
}

}  // namespace berth::bench
