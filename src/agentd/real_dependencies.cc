#include "agentd/real_dependencies.h"

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "agentd/state_keeper.h"
#include "link/agent_end.h"
#include "runtime/container/unused_images.h"
#include "runtime/files/directory_tree.h"
#include "runtime/files/instance_directories.h"
#include "runtime/files/instance_state.h"
#include "runtime/files/logs.h"
#include "runtime/files/memory_directory.h"
#include "runtime/files/run_directory.h"
#include "runtime/runtimes.h"
#include "runtime/supervision/health_check.h"
#include "session/forwarder.h"
#include "session/nftables_gateway.h"
#include "shell/log.h"

namespace berth::agentd {
namespace {

// Ends with the daemon; what it has made stays.
class HostNetworkControl final : public NetworkControl {
 public:
  HostNetworkControl(network::Config config, std::unique_ptr<network::HostNetwork> host)
      : config_(std::move(config)), host_(std::move(host)) {}

  void apply(const model::NodeNetwork& network) override { host_->apply(network); }

  network::HostNetwork& host() { return *host_; }

  void remove() {
    host_.reset();
    const auto removed = network::HostNetwork::remove_all(config_);
    if (removed) return;
    shell::log(shell::LogLevel::Warning, "the networks of this agent were not taken away",
               {{"why", removed.error().message}});
  }

 private:
  const network::Config config_;
  std::unique_ptr<network::HostNetwork> host_;
};

// nullptr: there are none, and it is written down why.
std::shared_ptr<HostNetworkControl> open_networks(Config& config) {
  if (!config.has_networks) {
    config.why_no_networks = "the setting network is off";
    return nullptr;
  }
  const network::Config wanted = network_config(config);
  auto host = network::HostNetwork::open(wanted);
  if (host) return std::make_shared<HostNetworkControl>(wanted, *std::move(host));
  config.why_no_networks = host.error().message;
  shell::log(shell::LogLevel::Warning,
             "instances have no networks of their own on this node, only the machine's",
             {{"why", config.why_no_networks}});
  return nullptr;
}

runtime::HealthTarget health_target(const model::InstanceSpec& spec,
                                    const std::shared_ptr<HostNetworkControl>& networks) {
  runtime::HealthTarget target{.key = spec.key};
  if (!spec.network || networks == nullptr) return target;
  target.address = to_string(spec.network->address);
  target.open_socket = [networks] { return networks->host().open_socket(); };
  return target;
}

runtime::MachineConfig machine_of(const Config& config) {
  return {.state_dir = config.state_dir,
          .agent_id = config.node,
          .tag = config.tag,
          .shim = config.shim,
          .dmips_per_core = config.dmips_per_core,
          .image_dir = config.image_dir,
          .logs = {},
          .images = config.images,
          .components = config.components,
          .has_quotas = config.why_no_quotas.empty(),
          .has_cpu_limits = config.why_no_cpu_limits.empty()};
}

StateEnds states_on(const runtime::MachineConfig& machine) {
  const auto keeper = std::make_shared<StateKeeper>(machine);
  return {.look = [keeper](const model::InstanceKey& key) { return keeper->look(key); },
          .begin = [keeper](const model::InstanceKey& key) { keeper->begin(key); },
          .take = [keeper](const model::InstanceSpec& spec,
                           const model::SavedState& state) { return keeper->take(spec, state); }};
}

model::Footprint count_disk(const std::filesystem::path& state_dir, const model::InstanceKey& key) {
  const auto size_of = [](const std::filesystem::path& directory) {
    return runtime::look_at_tree(directory, {}).size;
  };
  return {.storage = size_of(runtime::storage_directory(state_dir, key)),
          .state = size_of(runtime::state_directory(state_dir, key)),
          .traffic = {}};
}

void tidy_images(const runtime::MachineConfig& machine, const std::set<std::string>& wanted) {
  for (const runtime::RemovedImage& image : runtime::remove_unused_images(machine, wanted)) {
    shell::log(shell::LogLevel::Info, "an image that nothing uses was removed",
               {{"digest", image.digest}, {"bytes", std::to_string(image.size.count())}});
  }
}

auto runtime_maker(const Config& config, runtime::InstanceNetworks* networks) {
  runtime::MachineConfig machine = machine_of(config);
  machine.networks = networks;
  return [machine](const RuntimeConfig& wanted, runtime::RunListener& listener) {
    return runtime::make_runtime(
        machine, {model::RuntimeId(wanted.name), wanted.type, wanted.program}, listener);
  };
}

std::vector<RuntimeConfig> runtimes_of_runs(const std::filesystem::path& state_dir) {
  std::vector<RuntimeConfig> all;
  for (const runtime::RuntimeSpec& spec : runtime::runtimes_of_runs(state_dir)) {
    all.push_back({.name = spec.id.value(), .type = spec.type, .program = spec.program});
  }
  return all;
}

std::function<Link(link::AgentEndListener)> link_opener(const Config& config,
                                                        const trust::Credentials& credentials) {
  return [config, credentials](link::AgentEndListener listener) {
    const auto end =
        std::make_shared<link::AgentEnd>(link::AgentEndConfig{.server = config.server,
                                                              .node = config.node,
                                                              .boot_id = config.boot_id,
                                                              .version = BERTH_VERSION,
                                                              .authority = credentials.authority,
                                                              .identity = credentials.own},
                                         std::move(listener));
    return Link{
        .send = [end](std::uint64_t connection,
                      v1::FromAgent message) { end->send(connection, std::move(message)); },
        .set_identity =
            [end](trust::KeyAndCertificate identity) { end->set_identity(std::move(identity)); }};
  };
}

InstanceAccess instances_on(const Config& config,
                            const std::shared_ptr<HostNetworkControl>& networks) {
  return {
      .open_log = [state_dir = config.state_dir](const model::InstanceKey& key,
                                                 std::size_t lines) -> Result<ReadLog> {
        const auto directory = runtime::log_directory(state_dir, key);
        const auto reader =
            std::make_shared<runtime::LogReader>(TRY(runtime::LogReader::open(directory, lines)));
        return ReadLog([reader](Duration wait) { return reader->read(wait); });
      },
      .check_health =
          [networks](const model::InstanceSpec& spec, runtime::Runtime& runtime) {
            return runtime::check_health(*spec.item.health, health_target(spec, networks), runtime);
          }};
}

DiskAccess disk_of(const Config& config) {
  return {
      .count = [state_dir = config.state_dir](
                   const model::InstanceKey& key) { return count_disk(state_dir, key); },
      .erase =
          [state_dir = config.state_dir](const model::InstanceKey& key,
                                         const std::stop_token& leaving) {
            return runtime::erase_instance_directories(state_dir, key, leaving);
          },
      .tidy_images = [machine = machine_of(config)](
                         const std::set<std::string>& wanted) { tidy_images(machine, wanted); }};
}

// In memory, if the machine has a place there: to furnish an instance waits for no disk.
std::filesystem::path socket_directory(const Config& config) {
  Result<std::filesystem::path> memory = config.state_dir;
  if (!config.tag.empty()) memory = runtime::memory_directory(config.tag);
  return memory.value_or(config.state_dir) / "sessions";
}

using MadeGateway = Result<std::unique_ptr<session::Gateway>>;

MadeGateway make_forwarder(const PoolAccess& access, session::GatewayCallbacks callbacks) {
  session::Forwarder::Config config;
  config.network_socket = access.network_socket;
  return MadeGateway(TRY(session::Forwarder::open(std::move(config), std::move(callbacks))));
}

MadeGateway make_nftables(const Config& config, const PoolAccess& access,
                          const std::shared_ptr<HostNetworkControl>& networks,
                          session::GatewayCallbacks callbacks) {
  if (config.tag.empty()) return Error{Code::Unavailable, "this agent has no tag on its machine"};
  session::NftablesGateway::Config wanted{.tag = config.tag};
  wanted.rest = TRY(make_forwarder(access, callbacks));
  if (networks) {
    wanted.inside = {networks->host().router_namespace_name(), networks->host().router_address()};
  }
  return MadeGateway(TRY(session::NftablesGateway::open(std::move(wanted), std::move(callbacks))));
}

// What rules an agent of this tag has left would lead clients past the forwarder.
void remove_rules(const std::string& tag) {
  if (tag.empty()) return;
  const auto removed = session::NftablesGateway::remove_all(tag);
  if (removed || ::geteuid() != 0) return;
  shell::log(shell::LogLevel::Warning, "the rules of the gateway were not taken away",
             {{"why", removed.error().message}});
}

MadeGateway make_gateway(const Config& config, const PoolAccess& access,
                         const std::shared_ptr<HostNetworkControl>& networks,
                         const session::GatewayCallbacks& callbacks) {
  std::string why = "it is configured";
  if (config.gateway != GatewayKind::Forwarder) {
    auto made = make_nftables(config, access, networks, callbacks);
    if (made) shell::log(shell::LogLevel::Info, "sessions are forwarded by nftables");
    if (made || config.gateway == GatewayKind::Nftables) return made;
    why = made.error().message;
  }
  remove_rules(config.tag);
  shell::log(shell::LogLevel::Info, "sessions are forwarded by this agent itself", {{"why", why}});
  return make_forwarder(access, callbacks);
}

PoolAccess pools_on(const Config& config, const std::shared_ptr<HostNetworkControl>& networks) {
  const auto& state_dir = config.state_dir;
  PoolAccess access{.sockets = socket_directory(config),
                    .runs = [state_dir] { return runtime::instances_of_runs(state_dir); },
                    .notes = [state_dir] { return runtime::pool_notes_of_runs(state_dir); },
                    .keep_note =
                        [state_dir](const agent::KeepNote& keep) {
                          runtime::keep_pool_note(state_dir, keep.key, keep.run, keep.note);
                        }};
  if (networks) {
    access.network_socket = [networks](int family, int type) {
      return networks->host().open_socket(family, type);
    };
  }
  access.gateway = [config, networks, base = access](session::GatewayCallbacks callbacks) {
    return make_gateway(config, base, networks, callbacks);
  };
  access.remove_gateway = [tag = config.tag] { remove_rules(tag); };
  return access;
}

}  // namespace

network::Config network_config(const Config& config) {
  return {.node = config.node,
          .tag = config.tag,
          .state_dir = config.state_dir,
          .address = config.network_address,
          .server = config.server.substr(0, config.server.rfind(':')),
          .link_range = config.network_link_range,
          .name_servers = config.name_servers};
}

Dependencies real_dependencies(Config& config, store::Store& store,
                               const std::optional<trust::Credentials>& credentials) {
  const auto networks = open_networks(config);
  Dependencies dependencies{
      .store = {store},
      .runtimes = {.make = runtime_maker(config, networks ? &networks->host() : nullptr),
                   .of_runs = [state_dir =
                                   config.state_dir] { return runtimes_of_runs(state_dir); }},
      .identity = {.credentials = credentials,
                   .save =
                       [directory = identity_directory(config.state_dir)](
                           const trust::Credentials& renewed) {
                         return trust::save(directory, renewed);
                       }},
      .instances = instances_on(config, networks),
      .states = states_on(machine_of(config)),
      .disk = disk_of(config),
      .pools = pools_on(config, networks)};
  if (networks) {
    dependencies.networks.control = networks;
    dependencies.networks.address = [networks] {
      return std::optional(networks->host().address());
    };
    dependencies.networks.remove = [networks] { networks->remove(); };
  }
  if (credentials && !config.server.empty())
    dependencies.open_link = link_opener(config, *credentials);
  return dependencies;
}

}  // namespace berth::agentd
