#include "agentd/node_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "agentd/machine.h"
#include "shell/log.h"

namespace berth::agentd {
namespace {

constexpr unsigned kTurnsSkippedMax = 5;

Result<model::Usage> capacity_of(const Config& config) {
  model::Usage capacity;
  capacity.cpu = config.cpu.value_or(Dmips(processor_count() * config.dmips_per_core));
  capacity.ram = config.ram ? *config.ram : TRY(read_memory()).total;
  return capacity;
}

// Where both are on one file system, what is not configured apart is one counter.
Result<model::Partitions> partitions_of(const Config& config) {
  const FileSystem storage = TRY(file_system_of(storage_base(config.state_dir)));
  const FileSystem state = TRY(file_system_of(state_base(config.state_dir)));
  model::Partitions partitions;
  partitions.storage = config.storage.value_or(storage.size);
  partitions.state = config.state.value_or(state.size);
  partitions.same_partition = storage.device == state.device && !config.storage && !config.state;
  return partitions;
}

std::vector<std::string> remarks_on(const Config& config) {
  std::vector<std::string> remarks;
  if (!config.dmips_origin.empty()) {
    remarks.push_back(
        fmt::format("a core does {} DMIPS: {}", config.dmips_per_core, config.dmips_origin));
  }
  if (!config.why_no_quotas.empty()) {
    remarks.push_back(fmt::format("quotas of storage and state are watched, not enforced: {}",
                                  config.why_no_quotas));
  }
  if (!config.why_no_networks.empty()) {
    remarks.push_back(
        fmt::format("instances have no networks of their own here: {}", config.why_no_networks));
  }
  return remarks;
}

void log_readiness(const model::Runtime& runtime) {
  const bool is_ready = runtime.ready == model::Readiness::Ready;
  if (is_ready) {
    shell::log(shell::LogLevel::Info, "runtime is ready", {{"runtime", runtime.id.value()}});
  } else {
    shell::log(shell::LogLevel::Warning, "runtime is not ready",
               {{"runtime", runtime.id.value()}, {"why", runtime.message}});
  }
}

}  // namespace

Result<model::NodeInfo> describe_node(const Config& config) {
  model::NodeInfo node;
  node.type = config.type;
  node.capacity = TRY(capacity_of(config));
  node.partitions = TRY(partitions_of(config));
  node.shared_resources = config.shared_resources;
  node.remarks = remarks_on(config);
  return node;
}

NodeWatch::NodeWatch(model::NodeInfo node, Runtimes& runtimes, Duration period, Tell tell,
                     std::function<std::optional<model::Ipv4>()> address)
    : runtimes_(runtimes),
      tell_(std::move(tell)),
      address_(std::move(address)),
      node_(std::move(node)),
      patience_(runtimes.size()) {
  for (const auto& one : runtimes_) {
    model::Runtime runtime = one->runtime().describe();
    runtime.ready = model::Readiness::Unknown;
    node_.runtimes.push_back(std::move(runtime));
  }
  if (runtimes_.empty()) tell_(agent::NodeObserved{node_});
  for (std::size_t i = 0; i < runtimes_.size(); ++i) {
    probes_.push_back(std::make_unique<shell::Periodic>(period, [this, i] { probe(i); }));
  }
}

// One that is not ready is tried less and less often: trying costs more than asking.
void NodeWatch::probe(std::size_t number) {
  Patience& patience = patience_[number];
  if (patience.turns_to_skip > 0) {
    --patience.turns_to_skip;
    return;
  }
  model::Runtime probed = runtimes_[number]->runtime().probe();
  const bool is_ready = probed.ready == model::Readiness::Ready;
  patience.pause = is_ready ? 0 : std::min(2 * patience.pause + 1, kTurnsSkippedMax);
  patience.turns_to_skip = patience.pause;
  update(number, std::move(probed));
}

void NodeWatch::update(std::size_t number, model::Runtime probed) {
  const auto address = address_ ? address_() : std::nullopt;
  const std::lock_guard lock(mutex_);
  if (address_) node_.address = address;
  model::Runtime& known = node_.runtimes[number];
  if (known.ready != probed.ready) log_readiness(probed);
  known = std::move(probed);
  const bool is_first = probed_.insert(number).second;
  if (is_first && probed_.size() < runtimes_.size()) return;
  if (told_ == node_) return;
  told_ = node_;
  tell_(agent::NodeObserved{node_});
}

}  // namespace berth::agentd
