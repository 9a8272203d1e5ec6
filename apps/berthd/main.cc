#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "controld/daemon.h"
#include "shell/clock.h"
#include "shell/descriptor_limit.h"
#include "shell/log.h"
#include "shell/notify.h"
#include "shell/settings.h"
#include "shell/signals.h"

// The control plane.
namespace {

using namespace berth;
using shell::Settings;

const std::vector<shell::Setting> kSettings{
    {"state.dir", "where everything is kept", "/var/lib/berth"},
    {"listen.grpc", "address of agents and gRPC callers; port 0: any", "0.0.0.0:7443"},
    {"listen.https", "address of HTTP callers; port 0: any", "0.0.0.0:7444"},
    {"socket", "unix socket for callers on this machine", "/run/berth/berthd.sock"},
    {"socketGroup", "whose members may use the socket, beside root", ""},
    {"advertise", "names and addresses under which others reach this machine", ""},
    {"log.format", "text or json", "text"},
    {"log.level", "debug, info, warning or error", "info"},
    {"heartbeat", "how often agents report at least", "2s"},
    {"silentAfter", "a connected node that says nothing is unreachable then", "4s"},
    {"brokenAfter", "a node whose connection broke is unreachable then", "2s"},
    {"nodeLostGrace", "what an unreachable node runs is placed elsewhere then", "60s"},
    {"settleTime", "after a start: how long known agents are waited for", "5s"},
    {"confirmTimeout", "after a start: an instance that no agent reports has failed", "600s"},
    {"runTimeout", "how long an apply call waits, and an instance may go unconfirmed", "600s"},
    {"usageWindow", "measure.window of the agents; between two rebalances it must pass", "60s"},
    {"networks.range", "what the networks of owners are cut from", "10.128.0.0/10"},
    {"networks.prefix", "the size of one: 20 is room for 4094 instances and nodes", "20"},
    {"sessions.ports", "of each node, where sessions are reached from outside", "20000-29999"},
    {"gateway.node", "the node that forwards for all sessions; else each for what it runs", ""},
    {"gateway.address", "where that is reached from outside", ""},
    {"gateway.ports", "of that address, for sessions", "20000-29999"},
    {"minHealthy", "without a health check: active for so long is proven to be well", "2s"},
    {"rolloutTimeout", "a new version that is not active by then is taken back", "300s"},
    {"componentRolloutTimeout",
     "the same for components: longer than their installation and confirmation may take", "75m"},
    {"cacheTtl", "what is no longer asked for keeps its ids and data for so long", "720h"},
};

Result<control::Config> clocks(const Settings& settings) {
  control::Config config;
  config.heartbeat = TRY(settings.duration("heartbeat"));
  config.silent_after = TRY(settings.duration("silentAfter"));
  config.broken_after = TRY(settings.duration("brokenAfter"));
  config.node_lost_grace = TRY(settings.duration("nodeLostGrace"));
  config.settle_time = TRY(settings.duration("settleTime"));
  config.confirm_timeout = TRY(settings.duration("confirmTimeout"));
  config.run_timeout = TRY(settings.duration("runTimeout"));
  config.usage_window = TRY(settings.duration("usageWindow"));
  config.min_healthy = TRY(settings.duration("minHealthy"));
  config.rollout_timeout = TRY(settings.duration("rolloutTimeout"));
  config.component_rollout_timeout = TRY(settings.duration("componentRolloutTimeout"));
  config.cache_ttl = TRY(settings.duration("cacheTtl"));
  return config;
}

// A network needs room for a node and an instance, beside its first and last address.
Result<void> set_networks(const Settings& settings, control::Config& config) {
  const auto range = model::parse_subnet(settings.text("networks.range"));
  if (!range) return invalid_input("networks.range: write a range as in 10.128.0.0/10");
  const std::int64_t prefix = TRY(settings.number("networks.prefix"));
  if (prefix < range->prefix || prefix > 30) {
    return invalid_input(
        fmt::format("networks.prefix: from {}, which is the whole range, to 30", range->prefix));
  }
  config.networks = *range;
  config.network_prefix = static_cast<std::uint8_t>(prefix);
  return {};
}

Result<control::IdRange> port_range(const Settings& settings, const char* name) {
  const std::string& text = settings.text(name);
  unsigned first = 0;
  unsigned last = 0;
  int length = 0;
  const int found = std::sscanf(text.c_str(), "%5u-%5u%n", &first, &last, &length);
  const bool is_whole = found == 2 && static_cast<std::size_t>(length) == text.size();
  if (!is_whole || first == 0 || first > last || last > UINT16_MAX) {
    return invalid_input(std::string(name) + ": write a range as in 20000-29999");
  }
  return control::IdRange{first, last};
}

Result<void> set_session_ports(const Settings& settings, control::Config& config) {
  config.session_ports = TRY(port_range(settings, "sessions.ports"));
  const std::string& node = settings.text("gateway.node");
  const std::string& address = settings.text("gateway.address");
  if (node.empty() != address.empty()) {
    return invalid_input("gateway: it needs both a node and an address");
  }
  if (node.empty()) return {};
  config.gateway = {model::NodeId(node), address, TRY(port_range(settings, "gateway.ports"))};
  return {};
}

Result<void> set_up_log(const Settings& settings) {
  const std::string& format = settings.text("log.format");
  if (format != "text" && format != "json") return invalid_input("log.format: text or json");
  const std::vector<std::string> levels{"debug", "info", "warning", "error"};
  const auto level = std::ranges::find(levels, settings.text("log.level"));
  if (level == levels.end()) return invalid_input("log.level: debug, info, warning or error");
  shell::configure_log(format == "json" ? shell::LogFormat::Json : shell::LogFormat::Text,
                       static_cast<shell::LogLevel>(level - levels.begin()));
  return {};
}

Result<controld::DaemonConfig> config_of(const Settings& settings) {
  controld::DaemonConfig config;
  config.state_directory = settings.text("state.dir");
  config.grpc = settings.text("listen.grpc");
  config.https = settings.text("listen.https");
  config.socket = settings.text("socket");
  config.socket_group = settings.text("socketGroup");
  config.advertise = settings.list("advertise");
  config.control = TRY(clocks(settings));
  TRY(set_networks(settings, config.control));
  TRY(set_session_ports(settings, config.control));
  config.version = BERTH_VERSION;
  return config;
}

// Until somebody ends it.
void wait_for_end(shell::Signals& signals, controld::Daemon& daemon) {
  const auto interval = shell::watchdog_interval();
  while (true) {
    const auto until = interval ? std::optional(shell::now() + *interval) : std::nullopt;
    if (signals.wait(until)) return;
    daemon.prove_alive();
  }
}

Result<void> run(const Settings& settings) {
  TRY(set_up_log(settings));
  controld::DaemonConfig config = TRY(config_of(settings));
  config.connections = controld::connection_limits(shell::raise_descriptor_limit().now);
  shell::Signals signals = TRY(shell::Signals::block({SIGHUP}));
  const auto daemon = TRY(controld::Daemon::open(config));
  shell::notify_ready();
  wait_for_end(signals, *daemon);
  shell::notify_stopping();
  shell::log(shell::LogLevel::Info, "stopping");
  return {};
}

int fail(const Error& error) {
  fmt::print(stderr, "berthd: {}\n", error.message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::ranges::count(arguments, "--help") > 0) {
    fmt::print("{}", shell::help_for("berthd", "the control plane of Berth", kSettings));
    return 0;
  }
  if (std::ranges::count(arguments, "--version") > 0) {
    fmt::print("{}\n", BERTH_VERSION);
    return 0;
  }
  const bool show = std::erase(arguments, "--show-config") > 0;
  const auto settings = Settings::load("berthd", kSettings, arguments);
  if (!settings) return fail(settings.error());
  if (show) {
    fmt::print("{}", settings->show());
    return 0;
  }
  const Result<void> ended = run(*settings);
  return ended ? 0 : fail(ended.error());
}
