#include "agentd/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "agentd/machine.h"
#include "codec/rules.h"
#include "codec/scalar.h"
#include "codec/yaml_reader.h"
#include "runtime/files/run_directory.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;
using shell::Setting;
using shell::Settings;

// Gathers what is wrong, so that all of it is told at once.
class Findings {
 public:
  template <class T>
  T value(Result<T> result, T otherwise = {}) {
    if (result) return *std::move(result);
    add(result.error());
    return otherwise;
  }
  void add(const Error& error) {
    const bool is_new = std::find(all_.begin(), all_.end(), error.message) == all_.end();
    if (is_new) all_.push_back(error.message);
  }

  std::optional<Error> error() const {
    if (all_.empty()) return std::nullopt;
    return invalid_input(fmt::format("{}", fmt::join(all_, "\n")));
  }

 private:
  std::vector<std::string> all_;
};

Result<Duration> positive_duration(const Settings& settings, std::string_view name) {
  const Duration duration = TRY(settings.duration(name));
  if (duration <= Duration{}) return settings.wrong(name, "must be longer than nothing");
  return duration;
}

Result<std::int64_t> positive_number(const Settings& settings, std::string_view name) {
  const std::int64_t number = TRY(settings.number(name));
  if (number <= 0) return settings.wrong(name, "must be positive");
  return number;
}

Result<std::optional<Dmips>> optional_dmips(const Settings& settings, std::string_view name) {
  if (settings.text(name).empty()) return std::optional<Dmips>();
  return std::optional(Dmips(TRY(positive_number(settings, name))));
}

Result<std::optional<Bytes>> optional_bytes(const Settings& settings, std::string_view name) {
  if (settings.text(name).empty()) return std::optional<Bytes>();
  return std::optional(TRY(settings.bytes(name)));
}

constexpr std::array kOffered{model::RuntimeType::Runc,    model::RuntimeType::Crun,
                              model::RuntimeType::Process, model::RuntimeType::Vm,
                              model::RuntimeType::Rootfs,  model::RuntimeType::Boot,
                              model::RuntimeType::Firmware};

std::string offered_names() {
  std::vector<std::string_view> names;
  for (const model::RuntimeType type : kOffered) names.push_back(model::to_string(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

template <class List>
bool contains(const List& list, const typename List::value_type& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// --- Runtimes ------------------------------------------------------------------------------------

std::string member(const std::string& name, std::string_view what) {
  return fmt::format("runtime.{}.{}", name, what);
}

// Those that are installed, and those that are not there just now but run something.
std::vector<std::string> usual_runtimes(const fs::path& state_dir) {
  std::vector<std::string> in_use;
  for (const auto& spec : runtime::runtimes_of_runs(state_dir)) in_use.push_back(spec.id.value());
  const auto is_offered = [&](model::RuntimeType type, std::string_view program) {
    return is_installed(program) || contains(in_use, std::string(model::to_string(type)));
  };
  std::vector<std::string> names;
  const auto add = [&](model::RuntimeType type) { names.emplace_back(model::to_string(type)); };
  for (const auto type : {model::RuntimeType::Runc, model::RuntimeType::Crun}) {
    if (is_offered(type, model::to_string(type))) add(type);
  }
  add(model::RuntimeType::Process);
  if (is_offered(model::RuntimeType::Vm, runtime::kEmulator)) add(model::RuntimeType::Vm);
  return names;
}

// Those of the list, else the usual; then those with settings of their own.
Result<std::vector<std::string>> runtime_names(const Settings& settings,
                                               const fs::path& state_dir) {
  std::vector<std::string> names;
  for (const std::string& name : settings.list("runtimes")) {
    if (contains(names, name)) return settings.wrong("runtimes", name + " is named twice");
    names.push_back(name);
  }
  if (names.empty()) names = usual_runtimes(state_dir);
  for (const std::string& name : settings.members("runtime")) {
    if (!contains(names, name)) names.push_back(name);
  }
  return names;
}

// Without a type of its own it is what its name says.
Result<model::RuntimeType> type_of_runtime(const Settings& settings, const std::string& name) {
  const std::string said = member(name, "type");
  const bool is_said = settings.was_said(said);
  const auto wrong = [&](const std::string& why) -> Error {
    if (is_said) return settings.wrong(said, why);
    if (contains(settings.list("runtimes"), name)) return settings.wrong("runtimes", why);
    return invalid_input(fmt::format("runtime.{}: {}; {} says what it is", name, why, said));
  };
  const std::string& word = is_said ? settings.text(said) : name;
  const auto type = codec::Scalar<model::RuntimeType>::parse(word);
  if (!type) return wrong(type.error().message);
  if (!contains(kOffered, *type)) {
    return wrong(word + " is none that this agent has: " + offered_names());
  }
  return *type;
}

// What is said of one runtime, else what is said of all.
Result<Duration> duration_of_runtime(const Settings& settings, const std::string& name,
                                     std::string_view what, std::string_view for_all) {
  const std::string own = member(name, what);
  return settings.duration(settings.was_said(own) ? own : for_all);
}

Result<Duration> positive_duration_of_runtime(const Settings& settings, const std::string& name,
                                              std::string_view what) {
  const std::string own = member(name, what);
  return positive_duration(settings, settings.was_said(own) ? own : what);
}

Result<std::string> program_of_runtime(const Settings& settings, const RuntimeConfig& runtime) {
  const std::string own = member(runtime.name, "program");
  if (!settings.was_said(own) || settings.text(own).empty()) return std::string();
  const model::RuntimeKind kind = model::kind_of(runtime.type);
  const bool has_program =
      runtime.type != model::RuntimeType::Process &&
      (kind == model::RuntimeKind::Container || kind == model::RuntimeKind::Vm);
  if (!has_program) {
    return settings.wrong(own, fmt::format("a runtime of type {} has no program of its own",
                                           model::to_string(runtime.type)));
  }
  const std::string& text = settings.text(own);
  return text.find('/') == std::string::npos ? text : fs::absolute(text).string();
}

Result<std::uint32_t> instances_of_runtime(const Settings& settings, const std::string& setting) {
  const auto count = codec::parse_integer<std::uint32_t>(settings.text(setting), 0);
  if (!count) return settings.wrong(setting, count.error().message);
  return *count;
}

model::RuntimeLimits limits_of_runtime(const Settings& settings, const std::string& name,
                                       Findings& findings) {
  model::RuntimeLimits limits;
  const std::string cpu = member(name, "limits.cpu");
  const std::string ram = member(name, "limits.ram");
  const std::string instances = member(name, "limits.instances");
  if (settings.was_said(cpu)) limits.cpu = Dmips(findings.value(positive_number(settings, cpu)));
  if (settings.was_said(ram)) limits.ram = findings.value(settings.bytes(ram));
  if (settings.was_said(instances)) {
    limits.instances = findings.value(instances_of_runtime(settings, instances));
  }
  return limits;
}

RuntimeConfig runtime_config(const Settings& settings, const std::string& name,
                             Findings& findings) {
  RuntimeConfig runtime{.name = name};
  if (const auto flaw = codec::flaw_of(name, codec::Name{})) {
    findings.add(invalid_input(fmt::format("runtime {}: {}", codec::in_quotes(name), *flaw)));
  }
  runtime.type = findings.value(type_of_runtime(settings, name));
  const std::string primary = member(name, "primary");
  runtime.primary = settings.was_said(primary) && settings.flag(primary);
  runtime.limits = limits_of_runtime(settings, name, findings);
  runtime.grace = findings.value(duration_of_runtime(settings, name, "grace", "probe.grace"));
  runtime.probe_period =
      findings.value(positive_duration_of_runtime(settings, name, "probe.period"));
  runtime.probe_deadline =
      findings.value(positive_duration_of_runtime(settings, name, "probe.deadline"));
  runtime.program = findings.value(program_of_runtime(settings, runtime));
  return runtime;
}

// What is wrong with them together: each may be well by itself.
void check_together(const std::vector<RuntimeConfig>& runtimes, Findings& findings) {
  std::vector<std::string> primaries;
  std::map<model::RuntimeType, std::vector<std::string>> components;
  for (const RuntimeConfig& one : runtimes) {
    if (one.primary) primaries.push_back(one.name);
    if (model::kind_of(one.type) != model::RuntimeKind::Component) continue;
    components[one.type].push_back(one.name);
  }
  if (primaries.size() > 1) {
    findings.add(invalid_input(fmt::format("runtimes {} are all called primary; only one can be",
                                           fmt::join(primaries, ", "))));
  }
  for (const auto& [type, names] : components) {
    if (names.size() < 2) continue;
    findings.add(invalid_input(fmt::format("runtimes {} are all of type {}; a machine has only one",
                                           fmt::join(names, ", "), model::to_string(type))));
  }
}

std::vector<RuntimeConfig> runtime_configs(const Settings& settings, const fs::path& state_dir,
                                           Findings& findings) {
  std::vector<RuntimeConfig> runtimes;
  for (const std::string& name : findings.value(runtime_names(settings, state_dir))) {
    runtimes.push_back(runtime_config(settings, name, findings));
  }
  check_together(runtimes, findings);
  return runtimes;
}

Result<std::vector<model::SharedResource>> shared_resources(const Settings& settings) {
  auto resources = parse_shared_resources(settings.list("sharedResources"));
  if (!resources) return settings.wrong("sharedResources", resources.error().message);
  return resources;
}

Result<std::string> server(const Settings& settings) {
  const std::string& text = settings.text("server");
  const auto colon = text.rfind(':');
  const bool has_port =
      colon != std::string::npos && colon > 0 &&
      codec::parse_integer<std::uint16_t>(text.substr(colon + 1), 1, 65535).has_value();
  if (!text.empty() && !has_port) return settings.wrong("server", "must be host:port");
  return text;
}

Result<std::string> node_name(const Settings& settings) {
  const std::string& name = settings.text("node.name");
  const std::string flaw = name.empty() ? "" : flaw_of_node_name(name);
  if (!flaw.empty()) return settings.wrong("node.name", flaw);
  return name;
}

Result<std::string> node_type(const Settings& settings) {
  const auto flaw = codec::flaw_of(settings.text("node.type"), codec::Name{});
  if (flaw) return settings.wrong("node.type", *flaw);
  return settings.text("node.type");
}

runtime::ComponentConfig components(const Settings& settings, Findings& findings) {
  runtime::ComponentConfig config;
  const std::string& directory = settings.text("components.dir");
  if (!directory.empty()) config.directory = fs::absolute(directory);
  config.confirm = settings.list("components.confirm");
  config.confirm_timeout = findings.value(positive_duration(settings, "components.confirmTimeout"));
  config.install_timeout = findings.value(positive_duration(settings, "components.installTimeout"));
  return config;
}

Result<std::int64_t> percentage(const Settings& settings, std::string_view name) {
  const std::int64_t number = TRY(settings.number(name));
  if (number < 0 || number > 100) return settings.wrong(name, "must be between 0 and 100");
  return number;
}

Result<bool> has_networks(const Settings& settings) {
  const std::string& text = settings.text("network");
  if (text != "auto" && text != "off") return settings.wrong("network", "must be auto or off");
  return text == "auto";
}

Result<model::Ipv4> ipv4(const Settings& settings, std::string_view name, std::string_view text) {
  const auto address = model::parse_ipv4(text);
  if (!address) return settings.wrong(name, fmt::format("{} is no IPv4 address", text));
  return *address;
}

Result<GatewayKind> gateway_kind(const Settings& settings) {
  const std::string& text = settings.text("sessions.gateway");
  if (text == "auto") return GatewayKind::Auto;
  if (text == "nftables") return GatewayKind::Nftables;
  if (text == "forwarder") return GatewayKind::Forwarder;
  return settings.wrong("sessions.gateway", "must be auto, nftables or forwarder");
}

Result<std::optional<model::Ipv4>> network_address(const Settings& settings) {
  const std::string& text = settings.text("network.address");
  if (text.empty()) return std::optional<model::Ipv4>();
  return std::optional(TRY(ipv4(settings, "network.address", text)));
}

Result<model::Subnet> link_range(const Settings& settings) {
  const auto range = model::parse_subnet(settings.text("network.linkRange"));
  if (range && range->prefix >= 8 && range->prefix <= 30) return *range;
  return settings.wrong("network.linkRange",
                        "must be a network of 4 addresses or more: 198.18.0.0/16");
}

Result<std::vector<model::Ipv4>> name_servers(const Settings& settings) {
  std::vector<model::Ipv4> servers;
  for (const std::string& text : settings.list("network.nameServers")) {
    servers.push_back(TRY(ipv4(settings, "network.nameServers", text)));
  }
  return servers;
}

// What `join` has written. A damaged file counts as none; the agent then says that it has no
// server.
std::map<std::string, std::string> joined_values(const fs::path& state_dir) {
  std::ifstream in(joined_file(state_dir));
  std::string text(4096, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  const codec::YamlFile file = codec::read_yaml(text);
  std::map<std::string, std::string> values;
  if (file.problem || file.documents.empty()) return values;
  const codec::Tree& tree = file.documents.front();
  for (std::size_t i = 0; i < tree.keys.size(); ++i) {
    values[tree.keys[i].text] = tree.children[i].text;
  }
  return values;
}

}  // namespace

std::vector<Setting> known_settings() {
  return {
      {"node.name", "name of this node; else that of the certificate, else of the host", ""},
      {"node.type", "type of this node, which NodeConfigs refer to", "generic"},
      {"state.dir", "where everything is kept", "/var/lib/berth-agent"},
      {"server", "the control plane, host:port; `berth-agent join` sets it", ""},
      {"runtimes",
       "runtimes to offer: runc, crun, process, vm (those if there), rootfs, boot, firmware", ""},
      {"runtime.*.type", "one more runtime, or what one of the list is; else as it is called", ""},
      {"runtime.*.primary", "the node is Ready while this one is", "false"},
      {"runtime.*.program",
       "of containers and machines: the program that runs them, a path or a name", ""},
      {"runtime.*.limits.cpu", "DMIPS that its instances may have together; else no limit", ""},
      {"runtime.*.limits.ram", "memory that its instances may have together; else no limit", ""},
      {"runtime.*.limits.instances", "how many instances it may run; else no limit", ""},
      {"runtime.*.grace", "like probe.grace, for this one", ""},
      {"runtime.*.probe.period", "like probe.period, for this one", ""},
      {"runtime.*.probe.deadline", "like probe.deadline, for this one", ""},
      {"capacity.cpu", "DMIPS to offer; else cores x dmips.perCore", ""},
      {"capacity.ram", "memory to offer (4Gi); else all", ""},
      {"dmips.perCore", "DMIPS that one core does; else measured once and kept", ""},
      {"partitions.storage", "room for storage (64Gi); else the size of the file system", ""},
      {"partitions.state", "room for state; else the size of the file system", ""},
      {"sharedResources", "devices that instances share: gpu=2, can0", ""},
      {"shim", "program that watches over instances; else berth-shim beside this one", ""},
      {"images.dir", "where relative image references begin; else images in state.dir", ""},
      {"images.unusedMax", "how much of unpacked images is kept that nothing uses or wants", "2Gi"},
      {"images.freeMin", "percent of the file system; with less free no unused image is kept",
       "10"},
      {"components.dir", "where rootfs, boot and firmware are; else components in state.dir", ""},
      {"components.confirm", "program, arguments, comma separated: exit 0 confirms an update", ""},
      {"components.confirmTimeout", "an update not confirmed by then is rolled back", "2m"},
      {"components.installTimeout", "how long writing or verifying an update may take", "30m"},
      {"heartbeat", "a report at least this often", "2s"},
      {"stopGrace", "between the polite and the final signal", "10s"},
      {"probe.period", "how often it is looked whether a runtime works", "1s"},
      {"probe.deadline", "a runtime that does not answer by then is Unknown", "500ms"},
      {"probe.grace", "not being Ready for a shorter time changes no condition", "3s"},
      {"measure.period", "how often usage is measured", "2s"},
      {"network", "auto: instances have networks of their own if this machine can; or off", "auto"},
      {"network.address", "where other nodes reach this one; else what leads to the server", ""},
      {"network.linkRange", "addresses between this machine and its agents", "198.18.0.0/16"},
      {"network.nameServers", "who instances ask for dependencies names, comma separated", ""},
      {"sessions.gateway",
       "auto: sessions are forwarded by nftables if this agent may; or nftables, or forwarder",
       "auto"},
      {"measure.window", "over which it is averaged", "60s"},
      {"measure.diskPeriod", "how often the directories of instances are counted", "60s"},
      {"state.period", "how often changes of instances' states are looked for", "5s"},
      {"stopInstancesOnExit", "stop all instances when the agent ends", "false"},
      {"log.format", "text or json", "text"},
      {"log.level", "debug, info, warn or error", "info"},
  };
}

Result<Settings> load_settings(const std::vector<std::string>& arguments) {
  std::vector<Setting> known = known_settings();
  const Settings first = TRY(Settings::load("berth-agent", known, arguments));
  const fs::path state_dir = first.text("state.dir");
  const auto joined = joined_values(state_dir);
  if (joined.empty()) return first;
  for (Setting& setting : known) {
    if (setting.name != "server" && setting.name != "node.name") continue;
    const auto value = joined.find(setting.name);
    if (value == joined.end()) continue;
    setting.value = value->second;
    setting.origin = "joined, " + joined_file(state_dir).string();
  }
  return Settings::load("berth-agent", std::move(known), arguments);
}

Result<Config> read_config(const Settings& settings) {
  Findings findings;
  Config config;
  config.node = findings.value(node_name(settings));
  config.type = findings.value(node_type(settings));
  config.state_dir = fs::absolute(settings.text("state.dir"));
  config.server = findings.value(server(settings));
  config.runtimes = runtime_configs(settings, config.state_dir, findings);
  config.cpu = findings.value(optional_dmips(settings, "capacity.cpu"));
  config.ram = findings.value(optional_bytes(settings, "capacity.ram"));
  if (const auto dmips = findings.value(optional_dmips(settings, "dmips.perCore"))) {
    config.dmips_per_core = dmips->count();
    config.dmips_origin = "configured";
  }
  config.storage = findings.value(optional_bytes(settings, "partitions.storage"));
  config.state = findings.value(optional_bytes(settings, "partitions.state"));
  config.shared_resources = findings.value(shared_resources(settings));
  config.log_format = findings.value(shell::parse_log_format(settings.text("log.format")));
  config.log_level = findings.value(shell::parse_log_level(settings.text("log.level")));
  config.heartbeat = findings.value(positive_duration(settings, "heartbeat"));
  config.stop_grace = findings.value(positive_duration(settings, "stopGrace"));
  config.measure_period = findings.value(positive_duration(settings, "measure.period"));
  config.components = components(settings, findings);
  config.measure_window = findings.value(positive_duration(settings, "measure.window"));
  config.disk_period = findings.value(positive_duration(settings, "measure.diskPeriod"));
  config.state_period = findings.value(positive_duration(settings, "state.period"));
  config.stop_instances_on_exit = settings.flag("stopInstancesOnExit");
  config.has_networks = findings.value(has_networks(settings));
  config.network_address = findings.value(network_address(settings));
  config.network_link_range = findings.value(link_range(settings));
  config.gateway = findings.value(gateway_kind(settings));
  config.name_servers = findings.value(name_servers(settings));
  const std::string& shim = settings.text("shim");
  config.shim = shim.empty() ? own_directory() / "berth-shim" : fs::absolute(shim);
  const std::string& images = settings.text("images.dir");
  config.image_dir = images.empty() ? config.state_dir / "images" : fs::absolute(images);
  config.images.unused_max = findings.value(settings.bytes("images.unusedMax"));
  config.images.free_percent_min = findings.value(percentage(settings, "images.freeMin"));
  if (auto error = findings.error()) return *std::move(error);
  return config;
}

bool can_change_at_run_time(std::string_view setting) {
  return setting == "runtimes" || setting.starts_with("runtime.") || setting.starts_with("probe.");
}

std::string joined_text(const std::string& node, const std::string& server) {
  return fmt::format("node.name: {}\nserver: {}\n", node, server);
}

fs::path store_file(const fs::path& state_dir) { return state_dir / "agent.db"; }
fs::path identity_directory(const fs::path& state_dir) { return state_dir / "identity"; }
fs::path joined_file(const fs::path& state_dir) { return state_dir / "agent.yaml"; }
fs::path storage_base(const fs::path& state_dir) { return state_dir / "storage"; }
fs::path state_base(const fs::path& state_dir) { return state_dir / "state"; }

Result<std::vector<model::SharedResource>> parse_shared_resources(
    const std::vector<std::string>& list) {
  std::vector<model::SharedResource> resources;
  for (const std::string& text : list) {
    const auto equals = text.find('=');
    model::SharedResource resource{.name = text.substr(0, equals), .count = 0};
    if (const auto flaw = codec::flaw_of(resource.name, codec::Name{})) {
      return invalid_input(fmt::format("{}: {}", codec::in_quotes(resource.name), *flaw));
    }
    if (equals != std::string::npos) {
      resource.count = TRY(codec::parse_integer<std::uint32_t>(text.substr(equals + 1), 1));
    }
    resources.push_back(std::move(resource));
  }
  return resources;
}

std::string flaw_of_node_name(std::string_view name) {
  return codec::flaw_of(name, codec::Name{}).value_or("");
}

}  // namespace berth::agentd
