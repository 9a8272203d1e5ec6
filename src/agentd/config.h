#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "base/time.h"
#include "model/node.h"
#include "runtime/runtimes.h"
#include "shell/log.h"
#include "shell/settings.h"

namespace berth::agentd {

// A runtime that this node offers.
struct RuntimeConfig {
  std::string name;
  model::RuntimeType type = model::RuntimeType::Process;
  bool primary = false;
  model::RuntimeLimits limits = {};
  Duration grace = 3s;
  Duration probe_period = 1s;
  Duration probe_deadline = 500ms;
  std::string program = {};  // of containers; "": the one that is called like the type

  friend bool operator==(const RuntimeConfig&, const RuntimeConfig&) = default;
};

// How sessions are forwarded.
enum class GatewayKind {
  Auto,       // by rules of the kernel where the agent may make them
  Nftables,   // so, or the agent does not start
  Forwarder,  // by the agent itself
};

// How this agent runs, read from its settings and checked.
struct Config {
  std::string node;     // "": the name in the certificate, else that of the host
  std::string boot_id;  // new with each start
  std::string tag;      // of this agent on its machine; see agentd/tag.h
  std::string type;
  std::filesystem::path state_dir;
  std::string server;  // host:port; "": none
  std::vector<RuntimeConfig> runtimes;
  std::optional<Dmips> cpu;  // nullopt: what the machine has
  std::optional<Bytes> ram;
  std::int64_t dmips_per_core = 0;  // 0: measured when the node begins, and kept
  std::string dmips_origin;         // where that figure comes from, for people
  std::optional<Bytes> storage;
  std::optional<Bytes> state;
  std::vector<model::SharedResource> shared_resources;
  shell::LogFormat log_format = shell::LogFormat::Text;
  shell::LogLevel log_level = shell::LogLevel::Info;
  Duration heartbeat = 2s;
  Duration stop_grace = 10s;
  Duration measure_period = 2s;
  Duration measure_window = 60s;
  Duration disk_period = 60s;
  Duration state_period = 5s;
  std::string why_no_quotas;      // "": the file system holds storage and state to their quotas
  std::string why_no_cpu_limits;  // "": processes can be held to their quotas of the processor
  std::filesystem::path shim;
  std::filesystem::path image_dir;
  runtime::ImageLimits images;
  bool stop_instances_on_exit = false;
  runtime::ComponentConfig components;
  bool has_networks = false;    // instances have them, if this machine can
  std::string why_no_networks;  // "": it can
  std::optional<model::Ipv4> network_address;
  model::Subnet network_link_range;
  std::vector<model::Ipv4> name_servers;
  GatewayKind gateway = GatewayKind::Auto;
};

std::vector<shell::Setting> known_settings();

// Reads the command line with all that is below it. What `join` has left in the state directory is
// the default of what it knows.
Result<shell::Settings> load_settings(const std::vector<std::string>& arguments);

// Names every setting that is wrong, and where it came from.
Result<Config> read_config(const shell::Settings& settings);

// Whether a change of this setting takes effect without a restart of the agent.
bool can_change_at_run_time(std::string_view setting);

// Where an agent keeps what is its own.
std::filesystem::path store_file(const std::filesystem::path& state_dir);
std::filesystem::path identity_directory(const std::filesystem::path& state_dir);
std::filesystem::path joined_file(const std::filesystem::path& state_dir);
std::filesystem::path storage_base(const std::filesystem::path& state_dir);
std::filesystem::path state_base(const std::filesystem::path& state_dir);

// What `join` writes there.
std::string joined_text(const std::string& node, const std::string& server);

// "gpu=2, can0": a name, and how many can use it; no number: any number.
Result<std::vector<model::SharedResource>> parse_shared_resources(
    const std::vector<std::string>& list);

// What is wrong with the name of a node; "" if nothing is.
std::string flaw_of_node_name(std::string_view name);

}  // namespace berth::agentd
