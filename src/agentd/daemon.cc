#include "agentd/daemon.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "agentd/machine.h"
#include "agentd/persistence.h"
#include "codec/wire.h"
#include "model/application.h"
#include "shell/clock.h"
#include "shell/log.h"
#include "shell/notify.h"
#include "shell/open_store.h"

namespace berth::agentd {
namespace {

using shell::LogLevel;

constexpr Duration kFarewellMargin = 10s;
constexpr std::size_t kFarewellsMax = 100'000;

std::size_t worker_count() {
  return static_cast<std::size_t>(std::max<std::int64_t>(2, processor_count()));
}

agent::Config core_config(const Config& config) {
  agent::Config core;
  core.node = model::NodeId(config.node);
  core.boot_id = config.boot_id;
  core.heartbeat = config.heartbeat;
  core.stop_grace = config.stop_grace;
  // Each step ends by itself; this is for one that does not.
  core.component_start_timeout = 4 * config.components.install_timeout +
                                 config.components.confirm_timeout + core.action_timeout;
  return core;
}

Result<agent::Restored> load_what_is_good(const Dependencies& dependencies) {
  Loaded loaded = TRY(load(dependencies.store.store));
  for (const store::Entry& entry : loaded.damaged) {
    shell::log(LogLevel::Error, "a record of the store is damaged, and left out",
               {{"record", entry.key}, {"why", entry.value}});
  }
  loaded.restored.in_doubt |= dependencies.store.was_lost;
  // What is damaged is left out again by the next life of the agent, if this cannot be written now.
  const auto changes = mended(loaded);
  if (!changes.empty()) static_cast<void>(dependencies.store.store.commit(changes));
  return std::move(loaded.restored);
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::open(Config config, Dependencies dependencies) {
  Facts facts;
  facts.restored = TRY(load_what_is_good(dependencies));
  facts.node = TRY(describe_node(config));
  if (dependencies.networks.address) facts.node.address = dependencies.networks.address();
  shell::log(LogLevel::Info, "agent starts",
             {{"node", config.node},
              {"instances", std::to_string(facts.restored.wanted.size())},
              {"server", config.server.empty() ? "none" : config.server}});
  std::unique_ptr<Daemon> made(
      new Daemon(std::move(config), std::move(dependencies), std::move(facts)));
  made->pools_ =
      TRY(PoolPerformer::open(made->dependencies_.pools, [daemon = made.get()](agent::Event event) {
        daemon->tell(std::move(event));
      }));
  return made;
}

Daemon::Daemon(Config config, Dependencies dependencies, Facts facts)
    : config_(std::move(config)),
      dependencies_(std::move(dependencies)),
      node_(std::move(facts.node)),
      farewell_(kFarewellsMax),
      loop_(
          agent::Agent(core_config(config_), std::move(facts.restored)), dependencies_.store.store,
          inbox_,
          {.forget = [this](const agent::Exited& exited) { performer_->forget(exited); },
           .perform = [this](const agent::Action& action) { performer_->perform(action); },
           .perform_for_pool = [this](const agent::PoolAction& action) { pools_->perform(action); },
           .report = [this](std::uint64_t connection,
                            const model::Report& what) { report(connection, what); }}),
      meter_(config_.dmips_per_core, config_.measure_window) {
  offered_ = offer_at_start();
  performer_ = std::make_unique<Performer>(
      runtimes_, [this](const agent::CheckHealth& check) { return check_health(check); },
      dependencies_.disk.erase, [this](agent::Event event) { tell(std::move(event)); },
      worker_count(), dependencies_.networks.control.get(), dependencies_.disk.tidy_images);
  streams_ = std::make_unique<Streams>(StreamEnds{
      .open_log = dependencies_.instances.open_log,
      .exec = [this](
                  const model::InstanceKey& key, const runtime::ExecRequest& request,
                  const runtime::ExecListener& listener) { return exec(key, request, listener); },
      .send = [this](std::uint64_t connection,
                     v1::FromAgent message) { send(connection, std::move(message)); }});
}

Daemon::~Daemon() { end(); }

void Daemon::run() {
  begin();
  loop_.run();
  shell::notify_stopping();
  end();
  if (config_.stop_instances_on_exit) {
    stop_all_instances();
    if (dependencies_.pools.remove_gateway) dependencies_.pools.remove_gateway();
    if (dependencies_.networks.remove) dependencies_.networks.remove();
  }
  shell::log(LogLevel::Info, "agent ends");
}

void Daemon::stop() { inbox_.close(); }

// Also there, and not offered: what an earlier life has left something running on.
std::vector<RuntimeSet::Offered> Daemon::offer_at_start() {
  std::vector<RuntimeConfig> all = config_.runtimes;
  if (dependencies_.runtimes.of_runs) {
    for (RuntimeConfig& found : dependencies_.runtimes.of_runs()) {
      const bool is_known = std::any_of(
          all.begin(), all.end(), [&](const RuntimeConfig& one) { return one.name == found.name; });
      if (is_known) continue;
      tell(agent::RuntimeLeft{model::RuntimeId(found.name)});
      all.push_back(std::move(found));
    }
  }
  offer(all);
  return offer(config_.runtimes);
}

std::vector<RuntimeSet::Offered> Daemon::offer(const std::vector<RuntimeConfig>& runtimes) {
  const auto make = [this](const RuntimeConfig& config) {
    return std::make_shared<OrderedRuntime>(
        [&](runtime::RunListener& listener) {
          return dependencies_.runtimes.make(config, listener);
        },
        [this](agent::Event event) { tell(std::move(event)); }, dependencies_.states);
  };
  RuntimeSet::Change change = runtimes_.offer(runtimes, make);
  for (const std::string& what : change.refused) shell::log(LogLevel::Warning, what);
  return std::move(change.offered);
}

void Daemon::set_runtimes(const std::vector<RuntimeConfig>& runtimes) {
  const std::lock_guard lock(watch_mutex_);
  if (inbox_.closed()) return;
  offered_ = offer(runtimes);
  for (const RuntimeSet::Offered& one : offered_) one.runtime->runtime().reconsider();
  if (watch_) watch_->offer(offered_);
}

void Daemon::begin() {
  {
    const std::lock_guard lock(watch_mutex_);
    watch_ = std::make_unique<NodeWatch>(
        node_, offered_, [this](agent::Event event) { tell(std::move(event)); },
        dependencies_.networks.address);
  }
  measuring_ = std::make_unique<shell::Periodic>(config_.measure_period, [this] { measure(); });
  if (dependencies_.disk.count) {
    counting_ = std::make_unique<shell::Periodic>(config_.disk_period, [this] { count_disks(); });
  }
  if (dependencies_.states.look) {
    saving_ = std::make_unique<shell::Periodic>(config_.state_period, [this] { look_at_states(); });
  }
  if (!dependencies_.open_link) return shell::notify_ready();
  if (dependencies_.identity.credentials) {
    renewal_ = std::make_unique<Renewal>(
        *dependencies_.identity.credentials,
        RenewalOutlets{
            .send = [this](std::uint64_t connection,
                           v1::FromAgent message) { send(connection, std::move(message)); },
            .save = dependencies_.identity.save,
            .use =
                [this](const trust::KeyAndCertificate& identity) {
                  const std::lock_guard lock(link_mutex_);
                  if (link_) link_->set_identity(identity);
                },
            .now = [] { return std::chrono::system_clock::now(); }});
  }
  const std::lock_guard lock(link_mutex_);  // who wants to send before there is a link waits
  link_ = dependencies_.open_link(listener());
  shell::notify_ready();
}

void Daemon::end() {
  // First of all: what hangs gives up while the others end.
  for (const RuntimeRef& one : runtimes_.all()) one->runtime().leave();
  std::optional<Link> link;
  {
    const std::lock_guard lock(link_mutex_);
    link = std::exchange(link_, std::nullopt);
  }
  link.reset();  // without the lock: it waits for listeners that may want to send
  renewal_.reset();
  streams_.reset();
  saving_.reset();
  counting_.reset();
  measuring_.reset();
  {
    const std::lock_guard lock(watch_mutex_);
    watch_.reset();
    offered_.clear();
  }
  if (pools_) pools_->stop();
  performer_->stop();
}

// --- The link ----------------------------------------------------------------------------------

link::AgentEndListener Daemon::listener() {
  return {.connected =
              [this](std::uint64_t connection) {
                shell::log(LogLevel::Info, "connected", {{"server", config_.server}});
                last_failure_.clear();
                tell(agent::Connected{connection});
                if (renewal_) renewal_->connected(connection);
              },
          .disconnected =
              [this](std::uint64_t connection, const std::string& why) {
                log_disconnected(why);
                streams_->disconnected(connection);
                if (renewal_) renewal_->disconnected();
                tell(agent::Disconnected{connection});
              },
          .received = [this](std::uint64_t connection,
                             v1::ToAgent message) { received(connection, std::move(message)); },
          .failed = [this](std::string why) { failed_to_connect(std::move(why)); }};
}

void Daemon::log_disconnected(const std::string& why) const {
  if (inbox_.closed()) return;  // we have ended it
  shell::log(LogLevel::Warning, "disconnected", {{"server", config_.server}, {"why", why}});
}

// It is tried every few seconds, for days perhaps: the same failure is worth one line.
void Daemon::failed_to_connect(std::string why) {
  if (why == last_failure_ || inbox_.closed()) return;
  shell::log(LogLevel::Warning, "cannot connect", {{"server", config_.server}, {"why", why}});
  last_failure_ = std::move(why);
}

void Daemon::received(std::uint64_t connection, v1::ToAgent message) {
  switch (message.message_case()) {
    case v1::ToAgent::kCommand: return received_command(message.command());
    case v1::ToAgent::kPoolCommand: return received_pool_command(message.pool_command());
    case v1::ToAgent::kRenewed:
      if (renewal_) renewal_->renewed(message.renewed().certificate());
      return;
    case v1::ToAgent::kOpenLogs: return streams_->open_logs(connection, message.open_logs());
    case v1::ToAgent::kOpenExec: return streams_->open_exec(connection, message.open_exec());
    case v1::ToAgent::kStream:
      return streams_->receive(connection, std::move(*message.mutable_stream()));
    case v1::ToAgent::MESSAGE_NOT_SET: return;  // of a newer control plane
  }
}

void Daemon::received_command(const v1::Command& message) {
  auto command = codec::from_wire(message);
  if (!command) {
    return shell::log(LogLevel::Warning, "an invalid command was ignored",
                      {{"error", command.error().message}});
  }
  if (!inbox_.tell_command(*std::move(command))) {
    shell::log(LogLevel::Warning, "a command was dropped: too many wait");
  }
}

void Daemon::received_pool_command(const v1::PoolCommand& message) {
  auto command = codec::from_wire(message);
  if (!command) {
    return shell::log(LogLevel::Warning, "an invalid command about pools was ignored",
                      {{"error", command.error().message}});
  }
  if (!inbox_.tell_pool_command(*std::move(command))) {
    shell::log(LogLevel::Warning, "a command about pools was dropped: too many wait");
  }
}

void Daemon::report(std::uint64_t connection, const model::Report& report) {
  v1::FromAgent message;
  *message.mutable_report() = codec::to_wire(report);
  send(connection, std::move(message));
}

void Daemon::send(std::uint64_t connection, v1::FromAgent message) {
  const std::lock_guard lock(link_mutex_);
  if (link_) link_->send(connection, std::move(message));
}

// --- The machine -------------------------------------------------------------------------------

void Daemon::tell(agent::Event event) {
  if (!leaving_) return inbox_.tell(std::move(event));
  if (const auto* exited = std::get_if<agent::Exited>(&event)) {
    static_cast<void>(farewell_.post(*exited));
  }
}

agent::HealthChecked Daemon::check_health(const agent::CheckHealth& check) {
  agent::HealthChecked checked{check.spec.key, check.run, false, ""};
  const RuntimeRef runtime = runtimes_.find(check.spec.runtime);
  if (runtime == nullptr || !check.spec.item.health) return checked;
  const auto answer = dependencies_.instances.check_health(check.spec, runtime->runtime());
  checked.healthy = answer.healthy;
  checked.message = answer.message;
  return checked;
}

// Several agents on one machine must not take each other's load for theirs: one whose capacity was
// configured counts only what is its own.
void Daemon::measure() {
  runtimes_.drop_idle();
  std::map<model::InstanceKey, runtime::Consumption> instances;
  for (const RuntimeRef& one : runtimes_.all()) instances.merge(one->runtime().measure());
  const bool is_alone = !config_.cpu && !config_.ram;
  agent::Measured measured =
      is_alone
          ? meter_.add(shell::now(), instances, consumption_of_machine(), UsageMeter::Rest::Machine)
          : meter_.add(shell::now(), instances, consumption_of_this_process(),
                       UsageMeter::Rest::Agent);
  measured.node->partitions = partitions();
  {
    const std::lock_guard lock(disk_mutex_);
    for (auto& [key, footprint] : measured.footprints) {
      const auto counted = on_disk_.find(key);
      if (counted == on_disk_.end()) continue;
      footprint.storage = counted->second.storage;
      footprint.state = counted->second.state;
    }
  }
  inbox_.tell_usage(std::move(measured));
}

// A walk over all that instances have stored is the dearest thing that is measured: it is done
// rarely, by a thread of its own, and no walk goes on for ever.
void Daemon::count_disks() {
  std::map<model::InstanceKey, model::Footprint> counted;
  for (const model::InstanceKey& key : running()) counted[key] = dependencies_.disk.count(key);
  const std::lock_guard lock(disk_mutex_);
  on_disk_ = std::move(counted);
}

void Daemon::look_at_states() {
  if (inbox_.states_wait()) return;  // the store is full, perhaps
  for (const model::InstanceKey& key : running()) {
    if (auto saved = dependencies_.states.look(key)) tell(*std::move(saved));
  }
}

std::set<model::InstanceKey> Daemon::running() const {
  std::set<model::InstanceKey> keys;
  for (const RuntimeRef& one : runtimes_.all()) {
    for (const model::InstanceKey& key : one->runtime().running()) {
      if (!model::is_pool_instance(key)) keys.insert(key);
    }
  }
  return keys;
}

// Of a size that was configured, what our instances have is used; of a whole file system, whatever
// is on it.
std::vector<model::PartitionUsage> Daemon::partitions() const {
  Bytes in_storage;
  Bytes in_state;
  {
    const std::lock_guard lock(disk_mutex_);
    for (const auto& [key, footprint] : on_disk_) {
      in_storage += footprint.storage;
      in_state += footprint.state;
    }
  }
  std::vector<model::PartitionUsage> all;
  const auto add = [&](std::string name, const std::filesystem::path& base,
                       const std::optional<Bytes>& configured, Bytes ours) {
    if (configured) return all.push_back({std::move(name), *configured, ours});
    if (const auto found = file_system_of(base)) {
      all.push_back({std::move(name), found->size, found->used});
    }
  };
  const bool is_one = node_.partitions.same_partition;
  add(is_one ? "storage-and-state" : "storage", storage_base(config_.state_dir), config_.storage,
      in_storage);
  if (!is_one) add("state", state_base(config_.state_dir), config_.state, in_state);
  return all;
}

// Which runtime runs the instance only the runtimes know.
Result<std::unique_ptr<runtime::ExecSession>> Daemon::exec(const model::InstanceKey& key,
                                                           const runtime::ExecRequest& request,
                                                           const runtime::ExecListener& listener) {
  for (const RuntimeRef& one : runtimes_.all()) {
    auto session = one->runtime().exec(key, request, listener);
    if (session || session.error().code != Code::NotFound) return session;
  }
  return not_found(model::to_string(key) + " does not run on this node");
}

// --- The end -----------------------------------------------------------------------------------

// In the reverse order of their starting: what others may need goes last.
void Daemon::stop_all_instances() {
  const auto loaded = load(dependencies_.store.store);
  std::map<std::int64_t, std::vector<std::pair<RuntimeRef, model::FoundRun>>> by_priority;
  leaving_ = true;
  for (const RuntimeRef& one : runtimes_.all()) {
    const auto runs = one->runtime().list();
    if (!runs) continue;
    for (const model::FoundRun& run : *runs) {
      const bool is_known = loaded && loaded->restored.wanted.contains(run.key);
      const std::int64_t priority =
          is_known ? loaded->restored.wanted.at(run.key).spec.priority : 0;
      by_priority[priority].emplace_back(one, run);
    }
  }
  for (const auto& [priority, runs] : by_priority) {
    const Time deadline = shell::now() + config_.stop_grace + kFarewellMargin;
    std::set<std::pair<model::InstanceKey, model::RunId>> running;
    for (const auto& [runtime, found] : runs) {
      running.emplace(found.key, found.run);
      runtime->runtime().stop(found.key, found.run, config_.stop_grace);
    }
    while (!running.empty() && shell::now() < deadline) {
      for (const agent::Exited& exited : farewell_.take(deadline)) {
        running.erase({exited.key, exited.run});
      }
    }
    for (const auto& [runtime, found] : runs) {
      if (model::is_pool_instance(found.key)) runtime->runtime().forget(found.key, found.run);
    }
    for (const auto& [key, run] : running) {
      shell::log(LogLevel::Warning, "an instance did not stop in time",
                 {{"instance", model::to_string(key)}});
    }
  }
}

}  // namespace berth::agentd
