#include "agentd/node_watch.h"

#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "agentd/machine.h"
#include "agentd/probing.h"
#include "shell/clock.h"
#include "shell/log.h"

namespace berth::agentd {
namespace {

// How long the end of the agent waits for a runtime that does not answer.
constexpr Duration kMoment = 500ms;

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
  if (!config.why_no_cpu_limits.empty()) {
    remarks.push_back(fmt::format("quotas of the processor are not enforced for processes: {}",
                                  config.why_no_cpu_limits));
  }
  if (!config.why_no_networks.empty()) {
    remarks.push_back(
        fmt::format("instances have no networks of their own here: {}", config.why_no_networks));
  }
  return remarks;
}

// What has changed since it was logged.
void log_readiness(const std::vector<model::Runtime>& runtimes,
                   std::map<model::RuntimeId, model::Readiness>& logged) {
  std::map<model::RuntimeId, model::Readiness> now;
  for (const model::Runtime& runtime : runtimes) {
    now.emplace(runtime.id, runtime.ready);
    const auto before = logged.find(runtime.id);
    const bool is_known = before != logged.end() && before->second == runtime.ready;
    if (is_known || runtime.reason == kNotProbedYet) continue;
    if (runtime.ready == model::Readiness::Ready) {
      shell::log(shell::LogLevel::Info, "runtime is ready", {{"runtime", runtime.id.value()}});
    } else {
      shell::log(shell::LogLevel::Warning, "runtime is not ready",
                 {{"runtime", runtime.id.value()},
                  {"state", std::string(model::to_string(runtime.ready))},
                  {"reason", runtime.reason},
                  {"why", runtime.message}});
    }
  }
  logged = std::move(now);
}

// What the runtime is, with what was configured. A limit of its own it keeps, if none is.
Probing::Offer offer_of(const RuntimeConfig& config, OrderedRuntime& runtime) {
  Probing::Offer offer{.runtime = runtime.runtime().describe(),
                       .period = config.probe_period,
                       .deadline = config.probe_deadline};
  const model::RuntimeLimits own = offer.runtime.limits;
  offer.runtime.limits = config.limits;
  if (config.limits.instances == 0) offer.runtime.limits.instances = own.instances;
  offer.runtime.primary = config.primary;
  offer.runtime.grace = config.grace;
  return offer;
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

// --- Threads -------------------------------------------------------------------------------------

// The thread that asks one runtime.
struct NodeWatch::Asker {
  RuntimeRef runtime;
  std::optional<Probing::Try> next = {};
  bool is_dismissed = false;
  bool has_left = false;
  std::thread thread = {};
};

// What all threads use; it outlives those that hang.
struct NodeWatch::Shared {
  std::mutex mutex;
  std::condition_variable to_watch;   // answers, and the end
  std::condition_variable to_askers;  // questions, and their end
  Probing probing;
  std::map<model::RuntimeId, std::shared_ptr<Asker>> askers;
  std::vector<std::shared_ptr<Asker>> dismissed;
  bool is_stopping = false;

  // With the mutex held:
  void dismiss(const std::shared_ptr<Asker>& asker);
  void end_those_that_have_left();

  // The life of an asker.
  static void ask(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Asker>& asker);
};

void NodeWatch::Shared::ask(const std::shared_ptr<Shared>& shared,
                            const std::shared_ptr<Asker>& asker) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->to_askers.wait(lock, [&] { return asker->is_dismissed || asker->next; });
    if (asker->is_dismissed) break;
    const Probing::Try question = *std::exchange(asker->next, std::nullopt);
    lock.unlock();
    const auto result = asker->runtime->runtime().probe(question.deadline);
    lock.lock();
    shared->probing.answered(shell::now(), question.runtime, question.number, result);
    shared->to_watch.notify_all();
  }
  asker->has_left = true;
  shared->to_watch.notify_all();
}

void NodeWatch::Shared::dismiss(const std::shared_ptr<Asker>& asker) {
  asker->is_dismissed = true;
  dismissed.push_back(asker);
  to_askers.notify_all();
}

void NodeWatch::Shared::end_those_that_have_left() {
  std::erase_if(dismissed, [](const std::shared_ptr<Asker>& asker) {
    if (asker->has_left) asker->thread.join();
    return asker->has_left;
  });
}

NodeWatch::NodeWatch(model::NodeInfo node, const std::vector<RuntimeSet::Offered>& offered,
                     Tell tell, std::function<std::optional<model::Ipv4>()> address)
    : tell_(std::move(tell)),
      address_(std::move(address)),
      shared_(new Shared{.mutex = {},
                         .to_watch = {},
                         .to_askers = {},
                         .probing = Probing(std::move(node)),
                         .askers = {},
                         .dismissed = {}}) {
  offer(offered);
  thread_ = std::thread([this] { watch(); });
}

NodeWatch::~NodeWatch() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_stopping = true;
  }
  shared_->to_watch.notify_all();
  thread_.join();
  std::unique_lock lock(shared_->mutex);
  for (const auto& [id, asker] : shared_->askers) shared_->dismiss(asker);
  shared_->askers.clear();
  shared_->to_watch.wait_for(lock, kMoment, [this] {
    shared_->end_those_that_have_left();
    return shared_->dismissed.empty();
  });
  for (const auto& asker : shared_->dismissed) {
    shell::log(shell::LogLevel::Warning, "a runtime does not answer; it is left behind",
               {{"runtime", asker->runtime->id().value()}});
    asker->runtime->mute();
    asker->thread.detach();
  }
}

void NodeWatch::offer(const std::vector<RuntimeSet::Offered>& offered) {
  std::vector<Probing::Offer> offers;
  for (const auto& [config, runtime] : offered) offers.push_back(offer_of(config, *runtime));
  const std::lock_guard lock(shared_->mutex);
  shared_->end_those_that_have_left();
  shared_->probing.offer(shell::now(), offers);
  auto before = std::exchange(shared_->askers, {});
  for (const auto& [config, runtime] : offered) {
    const auto known = before.find(runtime->id());
    if (known != before.end() && known->second->runtime == runtime) {
      shared_->askers.insert(before.extract(known));
      continue;
    }
    const auto asker = std::make_shared<Asker>(Asker{.runtime = runtime});
    asker->thread = std::thread([shared = shared_, asker] { Shared::ask(shared, asker); });
    shared_->askers.emplace(runtime->id(), asker);
  }
  for (const auto& [id, asker] : before) shared_->dismiss(asker);
  shared_->to_watch.notify_all();
}

// The only one that tells, so that what is told is in order.
void NodeWatch::watch() {
  std::unique_lock lock(shared_->mutex);
  std::map<model::RuntimeId, model::Readiness> logged;
  while (!shared_->is_stopping) {
    shared_->end_those_that_have_left();
    const Time now = shell::now();
    if (address_) shared_->probing.set_address(address_());
    shared_->probing.expire(now);
    for (Probing::Try& question : shared_->probing.begin(now)) {
      shared_->askers.at(question.runtime)->next = std::move(question);
      shared_->to_askers.notify_all();
    }
    if (auto news = shared_->probing.take_news()) {
      log_readiness(news->runtimes, logged);
      tell_(agent::NodeObserved{*std::move(news)});
    }
    const auto next = shared_->probing.wake_at();
    if (next) {
      shared_->to_watch.wait_until(lock, shell::to_steady(*next));
    } else {
      shared_->to_watch.wait(lock);
    }
  }
}

}  // namespace berth::agentd
