#include "agentd/program.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "agentd/agent_store.h"
#include "agentd/calibration.h"
#include "agentd/config.h"
#include "agentd/daemon.h"
#include "agentd/join_command.h"
#include "agentd/machine.h"
#include "agentd/real_dependencies.h"
#include "agentd/tag.h"
#include "runtime/component/crash_points.h"
#include "runtime/container/cgroup.h"
#include "runtime/files/disk_quota.h"
#include "runtime/shim/spawn.h"
#include "session/nftables_gateway.h"
#include "shell/descriptor_limit.h"
#include "shell/log.h"
#include "shell/open_store.h"
#include "shell/signals.h"
#include "trust/certificate.h"
#include "trust/files.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;
using shell::Settings;

constexpr int kFailed = 1;
constexpr int kCalledWrongly = 2;

constexpr std::string_view kWhat =
    R"(berth-agent runs instances on this machine, as the control plane says.

Usage:
  berth-agent [run] [settings]                              run the agent
  berth-agent join https://HOST:PORT TOKEN [--name NAME]    become a node of a unit
  berth-agent remove-networks [settings]                    take away what an ended agent has left
  berth-agent --show-config [settings]                      show each setting and its origin
  berth-agent --help | --version

SIGHUP makes a running agent read its settings again: runtimes are added, removed and changed while
all that runs goes on. Other settings need a restart.)";

int fail(const Error& error, int code = kFailed) {
  fmt::print(stderr, "berth-agent: {}\n", error.message);
  return code;
}

// Takes a word out of the arguments; whether it was there.
bool take(Arguments& arguments, std::string_view word) {
  const auto found = std::find(arguments.begin(), arguments.end(), word);
  if (found == arguments.end()) return false;
  arguments.erase(found);
  return true;
}

// The node's own name, which must be the one that its certificate speaks for.
Result<std::string> name_of(const Config& config,
                            const std::optional<trust::Credentials>& credentials) {
  if (!credentials) return config.node.empty() ? host_name() : config.node;
  const trust::CertificateView seen = TRY(trust::look_at(credentials->own.certificate));
  const auto identity = trust::parse_identity(seen.common_name);
  if (!identity || identity->role != trust::Role::Node) {
    return invalid_input("the certificate is for " + seen.common_name + ", which is no node");
  }
  if (!config.node.empty() && config.node != identity->name) {
    return invalid_input(fmt::format(
        "node.name is {}, but this machine has joined as {}. To join again: berth-agent join",
        config.node, identity->name));
  }
  return identity->name;
}

// Without an identity there is nobody to talk to, but what is wanted runs.
std::optional<trust::Credentials> load_credentials(const fs::path& state_dir) {
  auto loaded = trust::load(identity_directory(state_dir));
  if (loaded) return *std::move(loaded);
  if (loaded.error().code != Code::NotFound) {
    shell::log(shell::LogLevel::Error, "the identity of this node cannot be used; join again",
               {{"error", loaded.error().message}});
  }
  return std::nullopt;
}

void warn_if_alone(const Config& config, const std::optional<trust::Credentials>& credentials) {
  if (!credentials) {
    shell::log(shell::LogLevel::Warning,
               "this machine has not joined a unit; berth-agent join https://HOST:PORT TOKEN");
  } else if (config.server.empty()) {
    shell::log(shell::LogLevel::Warning, "no server is configured");
  }
}

// What the node is held to for its whole life, whatever the load at this start.
Result<void> take_stock(Config& config, store::Store& store) {
  if (config.dmips_per_core == 0) {
    const Calibration calibration = TRY(calibrate(store));
    config.dmips_per_core = calibration.dmips_per_core;
    config.dmips_origin = "measured once; dmips.perCore overrides it";
    if (calibration.is_new) {
      shell::log(shell::LogLevel::Info, "measured what a core does",
                 {{"dmips", std::to_string(config.dmips_per_core)}});
    }
  }
  for (const auto& base : {storage_base(config.state_dir), state_base(config.state_dir)}) {
    TRY(make_state_directory(base));
    if (config.why_no_quotas.empty()) config.why_no_quotas = runtime::why_no_quotas(base);
  }
  if (!config.why_no_quotas.empty()) {
    shell::log(shell::LogLevel::Info, "quotas of storage and state are watched, not enforced",
               {{"why", config.why_no_quotas}});
  }
  config.why_no_cpu_limits = runtime::why_no_cpu_limits(config.tag);
  return {};
}

// What cannot change while it runs is named, and stays; what is wrong changes nothing at all.
void reload(Daemon& daemon, Settings& current, const Arguments& arguments) {
  const auto settings = load_settings(arguments);
  const auto config = settings ? read_config(*settings) : Result<Config>(settings.error());
  if (!config) {
    return shell::log(shell::LogLevel::Error, "the settings are wrong; all stays as it was",
                      {{"error", config.error().message}});
  }
  for (const std::string& name : settings->differences(current)) {
    if (can_change_at_run_time(name)) continue;
    shell::log(shell::LogLevel::Warning, "a setting has changed that needs a restart of the agent",
               {{"setting", name}});
  }
  current = *settings;
  daemon.set_runtimes(config->runtimes);
  shell::log(shell::LogLevel::Info, "the settings were read again");
}

Result<void> run(Config config, Settings settings, const Arguments& arguments) {
  runtime::shim::give_children_open_files(shell::raise_descriptor_limit().before);
  // Before any thread is started: they inherit the mask.
  shell::Signals signals = TRY(shell::Signals::block({SIGHUP}));
  shell::configure_log(config.log_format, config.log_level);
  TRY(runtime::check_crash_variable());
  TRY(make_state_directory(config.state_dir));
  const auto credentials = load_credentials(config.state_dir);
  config.node = TRY(name_of(config, credentials));
  if (const std::string flaw = flaw_of_node_name(config.node); !flaw.empty()) {
    return invalid_input(fmt::format("node.name: {}; set --node-name", flaw));
  }
  config.boot_id = make_boot_id();
  config.tag = take_tag({.state_dir = config.state_dir, .node = config.node});
  const AgentStore opened = TRY(open_agent_store(config.state_dir));
  TRY(take_stock(config, *opened.store));
  warn_if_alone(config, credentials);
  Dependencies dependencies = real_dependencies(config, *opened.store, credentials);
  dependencies.store.was_lost = opened.was_lost;
  const auto daemon = TRY(Daemon::open(config, std::move(dependencies)));

  std::thread running([&daemon] { daemon->run(); });
  while (signals.wait(std::nullopt) == SIGHUP) reload(*daemon, settings, arguments);
  daemon->stop();
  running.join();
  return {};
}

// For an agent that has left its instances running, and whose instances have ended since.
Result<void> remove_networks(Config config) {
  config.node = TRY(name_of(config, load_credentials(config.state_dir)));
  config.tag = find_tag({.state_dir = config.state_dir, .node = config.node});
  if (config.tag.empty()) return {};  // it has never made anything
  TRY(session::NftablesGateway::remove_all(config.tag));
  return network::HostNetwork::remove_all(network_config(config));
}

}  // namespace

int run_program(const Arguments& given) {
  // An arena per thread would cost more memory than all that this program keeps.
  mallopt(M_ARENA_MAX, 2);
  Arguments arguments = given;
  if (take(arguments, "--help") || take(arguments, "-h")) {
    fmt::print("{}", shell::help_for("berth-agent", kWhat, known_settings()));
    return 0;
  }
  if (take(arguments, "--version")) {
    fmt::print("berth-agent {}\n", BERTH_VERSION);
    return 0;
  }
  // For tests only, so that it is not in the help.
  if (take(arguments, "--list-crash-points")) {
    for (const auto& [point, name] : model::Names<runtime::CrashPoint>::kTable) {
      fmt::print("{}\n", name);
    }
    return 0;
  }
  const bool shows_config = take(arguments, "--show-config");
  if (!arguments.empty() && arguments.front() == "join") {
    const auto joined = run_join({arguments.begin() + 1, arguments.end()});
    if (!joined) return fail(joined.error());
    fmt::print("{}", *joined);
    return 0;
  }
  const bool removes_networks = !arguments.empty() && arguments.front() == "remove-networks";
  const bool has_verb = removes_networks || (!arguments.empty() && arguments.front() == "run");
  if (has_verb) arguments.erase(arguments.begin());

  const auto settings = load_settings(arguments);
  if (!settings) return fail(settings.error(), kCalledWrongly);
  if (shows_config) fmt::print("{}", settings->show());
  auto config = read_config(*settings);
  if (!config) return fail(config.error(), kCalledWrongly);
  if (shows_config) return 0;
  const auto ended = removes_networks ? remove_networks(*std::move(config))
                                      : run(*std::move(config), *settings, arguments);
  return ended ? 0 : fail(ended.error());
}

}  // namespace berth::agentd
