#include "agentd/node_watch.h"

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

// Both are on the file system of the state directory: what is not configured apart is one counter.
Result<model::Partitions> partitions_of(const Config& config) {
  const Bytes whole = TRY(partition_size(config.state_dir));
  model::Partitions partitions;
  partitions.storage = config.storage.value_or(whole);
  partitions.state = config.state.value_or(whole);
  partitions.same_partition = !config.storage && !config.state;
  return partitions;
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
