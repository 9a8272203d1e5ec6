#include "network/host_network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <utility>

#include "network/announcement.h"
#include "network/guest_device.h"
#include "network/names.h"
#include "network/uplink.h"
#include "runtime/files/run_directory.h"
#include "runtime/supervision/command.h"
#include "shell/log.h"

namespace berth::network {
namespace {

namespace fs = std::filesystem;
using runtime::JoinedNetwork;
using runtime::kInstanceDevice;
using runtime::shim::Fd;
using shell::LogLevel;

constexpr std::uint32_t kTunnelOverhead = 50;  // what VXLAN adds to a packet
constexpr Duration kTellPatience = 5s;         // of an instance whose network is not known yet
constexpr int kRetryMs = 2'000;
constexpr int kLookMs = 10'000;  // how often it is looked whether our address has changed

struct Setting {
  const char* name;
  const char* value;
};

constexpr Setting kRouterSettings[] = {
    {"ipv4/ip_forward", "1"},
    {"ipv6/conf/all/disable_ipv6", "1"},
    {"ipv6/conf/default/disable_ipv6", "1"},
    {"bridge/bridge-nf-call-iptables", "0"},
};
// Programs without capabilities may listen on any port, and ping: nobody else is there.
constexpr Setting kInstanceSettings[] = {
    {"ipv4/ip_unprivileged_port_start", "0"},
    {"ipv4/ping_group_range", "0 2147483647"},
    {"ipv6/conf/all/disable_ipv6", "1"},
    {"ipv6/conf/default/disable_ipv6", "1"},
};

// Kernels without the setting have nothing to set.
template <std::size_t N>
Result<void> set_kernel(const Setting (&settings)[N]) {
  for (const Setting& setting : settings) {
    const std::string path = std::string("/proc/sys/net/") + setting.name;
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.is_open()) static_cast<void>(runtime::shim::write_all(file.get(), setting.value));
  }
  return {};
}

fs::path directory_of(const std::string& tag) { return fs::path("/run/berth") / tag; }

Result<void> make_directory(const std::string& tag) {
  ::mkdir("/run/berth", 0755);
  const fs::path path = directory_of(tag);
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return Error{Code::Unavailable, "cannot make " + path.string()};
}

// The one that is there, whatever the node was called when it was made.
std::string find_router(const std::string& node, const std::string& tag) {
  for (const std::string& name : NetworkNamespace::names("berth-")) {
    if (name.ends_with("-" + tag)) return name;
  }
  return router_namespace(node, tag);
}

Result<void> look_for_what_is_needed() {
  if (::geteuid() != 0) {
    return Error{Code::Unavailable,
                 fmt::format("networks need root; the agent runs as user {}", ::geteuid())};
  }
  for (const char* program : {"nft", "dnsmasq"}) {
    if (runtime::find_program(program).empty()) {
      return not_found(fmt::format("{} is not installed", program));
    }
  }
  return {};
}

bool has_live_run(const fs::path& state_dir, const model::InstanceKey& key) {
  const auto runs = runtime::RunDirectory::of(state_dir, key);
  return std::any_of(runs.begin(), runs.end(),
                     [](const runtime::RunDirectory& run) { return run.is_supervised(); });
}

std::set<std::string> namespaces_in_use(const fs::path& state_dir, const std::string& tag) {
  std::set<std::string> names;
  for (const runtime::RunDirectory& run : runtime::RunDirectory::all(state_dir)) {
    const auto record = run.is_supervised() ? run.record() : std::nullopt;
    if (record) names.insert(instance_namespace(tag, record->found.key));
  }
  return names;
}

// Who has just heard of the end of a run finds its directory locked by who takes it away.
bool becomes_unused(const fs::path& state_dir, const std::string& tag) {
  for (int tries = 0; tries < 20; ++tries) {
    if (namespaces_in_use(state_dir, tag).empty()) return true;
    ::poll(nullptr, 0, 25);
  }
  return false;
}

// "item/subject/index", as we have written it.
std::optional<model::InstanceKey> parse_key(const std::string& text) {
  const std::size_t first = text.find('/');
  const std::size_t last = text.rfind('/');
  if (first == std::string::npos || first == last) return std::nullopt;
  const auto index = runtime::shim::parse_number(text.substr(last + 1));
  if (!index) return std::nullopt;
  return model::InstanceKey{model::ItemId(text.substr(0, first)),
                            model::SubjectId(text.substr(first + 1, last - first - 1)),
                            static_cast<std::uint32_t>(*index)};
}

const model::ProviderNetwork* network_of(const std::optional<model::NodeNetwork>& all,
                                         const model::OwnerId& owner) {
  if (!all) return nullptr;
  for (const model::ProviderNetwork& one : all->networks) {
    if (one.owner == owner) return &one;
  }
  return nullptr;
}

auto network_failed(std::string message) {
  return tl::unexpected(model::Problem{"NetworkFailed", std::move(message)});
}

Result<void> plug_in_guest(const std::string& instance_namespace, std::uint32_t mtu) {
  const NetworkNamespace inside = TRY(NetworkNamespace::open(instance_namespace));
  return ensure_guest_device(inside, mtu);
}

std::string message_of(const Result<void>& result) { return result ? "" : result.error().message; }

}  // namespace

bool HostNetwork::Problems::any() const {
  return !networks.empty() || !firewall.empty() || !names.empty() || !address.empty();
}

// --- Beginning and end ---------------------------------------------------------------------------

Result<std::unique_ptr<HostNetwork>> HostNetwork::open(Config config) {
  TRY(look_for_what_is_needed());
  const std::string tag = config.tag;
  TRY(make_directory(tag));
  NetworkNamespace host = TRY(NetworkNamespace::own());
  NetworkNamespace router = TRY(NetworkNamespace::make(find_router(config.node, tag)));
  TRY(router.run([] { return set_kernel(kRouterSettings); }));
  Links host_links = TRY(Links::open(host));
  Links router_links = TRY(Links::open(router));
  Inspection inspection = TRY(Inspection::open(router));
  const auto outer = find_outer_address(config);
  const std::uint32_t mtu = TRY(mtu_at(host_links, outer));
  TRY(set_kernel({Setting{"ipv4/ip_forward", "1"}}));
  const auto loopback = TRY(router_links.find("lo"));
  if (loopback) TRY(router_links.set_up(loopback->index));
  const UplinkSpec uplink{.tag = tag, .range = config.link_range, .mtu = mtu};
  const model::Ipv4 link_address = TRY(ensure_uplink(host_links, router_links, router, uplink));
  return std::unique_ptr<HostNetwork>(new HostNetwork(std::move(config), tag,
                                                      {.host = std::move(host),
                                                       .router = std::move(router),
                                                       .host_links = std::move(host_links),
                                                       .router_links = std::move(router_links),
                                                       .inspection = std::move(inspection),
                                                       .link_address = link_address,
                                                       .outer = outer,
                                                       .mtu = mtu - kTunnelOverhead}));
}

HostNetwork::HostNetwork(Config config, std::string tag, Parts parts)
    : config_(std::move(config)),
      tag_(std::move(tag)),
      parts_(std::move(parts)),
      name_server_({.directory = directory_of(tag_), .upstream = config_.name_servers}),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sweep();
  problems_.address = message_of(ensure_address());
  keeper_ = std::thread([this] { keep(); });
}

HostNetwork::~HostNetwork() {
  {
    const std::lock_guard lock(told_mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  ::eventfd_write(wake_.get(), 1);
  keeper_.join();
}

// What belongs to runs that have ended while nobody looked.
void HostNetwork::sweep() {
  const auto in_use = namespaces_in_use(config_.state_dir, tag_);
  for (const std::string& name : NetworkNamespace::names(instance_namespace_prefix(tag_))) {
    if (!in_use.contains(name)) take_away(name);
  }
}

Result<void> HostNetwork::remove_all(const Config& config) {
  const std::string tag = config.tag;
  if (!becomes_unused(config.state_dir, tag)) {
    return Error{Code::Unavailable, "instances of this agent still run"};
  }
  for (const std::string& name : NetworkNamespace::names(instance_namespace_prefix(tag))) {
    NetworkNamespace::remove(name);
  }
  NameServer({.directory = directory_of(tag), .upstream = config.name_servers}).stop();
  NetworkNamespace::remove(find_router(config.node, tag));
  std::error_code error;
  fs::remove_all(directory_of(tag), error);
  const NetworkNamespace host = TRY(NetworkNamespace::own());
  Links links = TRY(Links::open(host));
  TRY(links.remove(host_device(tag)));
  if (runtime::find_program("nft").empty()) return {};
  return apply_rules(host, no_host_rules(tag));
}

// --- Networks ------------------------------------------------------------------------------------

model::Ipv4 HostNetwork::address() const {
  const std::lock_guard lock(told_mutex_);
  return address_.value_or(parts_.link_address);
}

std::string HostNetwork::router_namespace_name() const { return find_router(config_.node, tag_); }

void HostNetwork::apply(const model::NodeNetwork& network) {
  {
    const std::lock_guard lock(told_mutex_);
    told_ = network;
    must_announce_ = true;
  }
  changed_.notify_all();
  ::eventfd_write(wake_.get(), 1);
}

bool HostNetwork::is_told_of(const model::OwnerId& owner) const {
  return network_of(told_, owner) != nullptr;
}

bool HostNetwork::is_stopping() const {
  const std::lock_guard lock(told_mutex_);
  return stopping_;
}

void HostNetwork::take_told() {
  const std::lock_guard lock(told_mutex_);
  if (std::exchange(must_write_rules_, false)) {
    firewalled_.reset();
    is_realised_ = false;
  }
  if (wanted_ == told_) return;
  wanted_ = told_;
  is_realised_ = false;
}

// One network that does not work is not in the way of the others.
void HostNetwork::realise() {
  take_told();
  show(std::nullopt);
  const Problems before = std::exchange(problems_, {});
  problems_.address = message_of(ensure_address());
  problems_.names = message_of(name_server_.ensure(parts_.router));
  if (wanted_) {
    for (const model::ProviderNetwork& one : wanted_->networks) {
      const auto done = ensure_network(one);
      if (!done) problems_.networks[one.owner] = done.error().message;
    }
    problems_.firewall = message_of(ensure_firewall());
    const auto removed = remove_others();
    if (!removed) problems_.networks[model::OwnerId("")] = removed.error().message;
    const auto named = name_server_.set_names(wanted_->names);
    if (!named && problems_.names.empty()) problems_.names = named.error().message;
  }
  is_realised_ = !problems_.any();
  show(what_was_made());
  log_changes(before);
}

Inspection::Made HostNetwork::what_was_made() const {
  Inspection::Made made{.devices = {kUplinkDevice}, .has_rules = firewalled_.has_value()};
  if (wanted_) {
    for (const model::ProviderNetwork& one : wanted_->networks) {
      if (!problems_.networks.contains(one.owner)) made.devices.push_back(bridge_device(one.vxlan));
    }
  }
  return made;
}

void HostNetwork::show(std::optional<Inspection::Made> made) {
  const std::lock_guard lock(told_mutex_);
  made_ = std::move(made);
  firewall_problem_ = problems_.firewall;
}

// While something is being changed, what was found last still holds.
std::string HostNetwork::why_not_ready() {
  const std::lock_guard one_at_a_time(inspection_mutex_);
  std::optional<Inspection::Made> made;
  {
    const std::lock_guard lock(told_mutex_);
    if (!firewall_problem_.empty()) return "the firewall: " + firewall_problem_;
    made = made_;
  }
  if (!made) return missing_;
  std::string missing = parts_.inspection.missing(*made);
  {
    const std::lock_guard lock(told_mutex_);
    if (made_ != made) return missing_;
    must_write_rules_ |= !missing.empty();
  }
  missing_ = std::move(missing);
  if (!missing_.empty()) ::eventfd_write(wake_.get(), 1);
  return missing_;
}

// Somebody has come or gone. An instance that has moved here was seen elsewhere before, and as long
// as it ran there, too; who says nothing by itself would not be found.
void HostNetwork::announce_instances() {
  {
    const std::lock_guard lock(told_mutex_);
    if (!std::exchange(must_announce_, false)) return;
  }
  for (const std::string& name : NetworkNamespace::names(instance_namespace_prefix(tag_))) {
    const auto inside = NetworkNamespace::open(name);
    if (inside) static_cast<void>(inside->run([] { return announce(kInstanceDevice); }));
  }
}

Result<void> HostNetwork::ensure_network(const model::ProviderNetwork& network) {
  Links& links = parts_.router_links;
  auto bridge = TRY(links.find(bridge_device(network.vxlan)));
  if (!bridge) {
    TRY(links.make(BridgeSpec{.name = bridge_device(network.vxlan),
                              .mtu = parts_.mtu,
                              .mac = mac_of_bridge(network.node_address)}));
    bridge = TRY(links.find(bridge_device(network.vxlan)));
  }
  if (!bridge) return not_found("the bridge is gone again");
  TRY(links.ensure_address(bridge->index, network.node_address, network.subnet.prefix));
  TRY(links.set_up(bridge->index));

  auto tunnel = TRY(links.find(tunnel_device(network.vxlan)));
  if (tunnel && tunnel->tunnel_end != parts_.link_address) {
    TRY(links.remove(tunnel->name));
    tunnel.reset();
  }
  if (!tunnel) {
    TRY(links.make(VxlanSpec{.name = tunnel_device(network.vxlan),
                             .mtu = parts_.mtu,
                             .id = network.vxlan,
                             .local = parts_.link_address,
                             .master = bridge->index}));
    tunnel = TRY(links.find(tunnel_device(network.vxlan)));
  }
  if (!tunnel) return not_found("the tunnel is gone again");
  if (tunnel->master != bridge->index) TRY(links.set_master(tunnel->index, bridge->index));
  TRY(links.set_up(tunnel->index));
  return links.ensure_peers(tunnel->index, network.peers);
}

Result<void> HostNetwork::remove_others() {
  std::set<std::string> wanted;
  for (const model::ProviderNetwork& one : wanted_->networks) {
    wanted.insert(bridge_device(one.vxlan));
    wanted.insert(tunnel_device(one.vxlan));
  }
  for (const Link& link : TRY(parts_.router_links.all())) {
    const bool is_ours = link.kind == "bridge" || link.kind == "vxlan";
    if (is_ours && !wanted.contains(link.name)) TRY(parts_.router_links.remove(link.name));
  }
  return {};
}

// If what we believe to be there is not, all is written anew; only the counters suffer.
Result<void> HostNetwork::ensure_firewall() {
  if (firewalled_ == wanted_) return {};
  auto applied =
      apply_rules(parts_.router, router_rules(*wanted_, parts_.link_address, firewalled_));
  if (!applied && firewalled_) {
    applied = apply_rules(parts_.router, router_rules(*wanted_, parts_.link_address, std::nullopt));
  }
  firewalled_ = applied ? wanted_ : std::nullopt;
  return applied;
}

std::optional<model::Ipv4> HostNetwork::find_outer_address(const Config& config) {
  return config.address ? config.address : address_toward(config.server);
}

// The configured address, or the one that leads to the control plane; if there is none, or another
// agent has it, that of the router, which only this machine knows.
Result<void> HostNetwork::ensure_address() {
  const auto outer = parts_.outer;
  bool is_free = false;
  if (outer) is_free = TRY(claim_address(parts_.host_links, tag_, *outer));
  if (!is_free) TRY(claim_address(parts_.host_links, tag_, parts_.link_address));
  const model::Ipv4 address = is_free ? *outer : parts_.link_address;
  if (address_ == address) return {};
  TRY(apply_rules(parts_.host, host_rules({.tag = tag_,
                                           .device = host_device(tag_),
                                           .link_address = parts_.link_address,
                                           .node_address = address})));
  {
    const std::lock_guard lock(told_mutex_);
    address_ = address;
  }
  const bool is_taken = outer && !is_free;
  shell::log(is_taken ? LogLevel::Warning : LogLevel::Info,
             is_taken ? "another agent of this machine has the address; only agents on this "
                        "machine reach the networks of this one, unless network.address names "
                        "another"
                      : "networks are on",
             {{"address", to_string(address)}, {"router", find_router(config_.node, tag_)}});
  return {};
}

void HostNetwork::log_changes(const Problems& before) const {
  if (problems_ == before) return;
  for (const auto& [owner, why] : problems_.networks) {
    shell::log(LogLevel::Error, "a network does not work",
               {{"owner", owner.value()}, {"why", why}});
  }
  const std::pair<const char*, const std::string&> others[] = {
      {"the firewall does not work", problems_.firewall},
      {"the name server does not work", problems_.names},
      {"this node cannot be reached", problems_.address}};
  for (const auto& [what, why] : others) {
    if (!why.empty()) shell::log(LogLevel::Error, what, {{"why", why}});
  }
  if (!problems_.any()) shell::log(LogLevel::Info, "all networks work again");
}

void HostNetwork::keep() {
  for (;;) {
    int wait = kLookMs;
    pollfd sources[2] = {{wake_.get(), POLLIN, 0}, {-1, POLLIN, 0}};
    const auto outer = find_outer_address(config_);  // without the lock: it may ask a name server
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping()) return;
      parts_.outer = outer;
      realise();
      announce_instances();
      if (problems_.any()) wait = kRetryMs;
      sources[1].fd = problems_.names.empty() ? name_server_.handle() : -1;
    }
    ::poll(sources, 2, wait);
    eventfd_t count = 0;
    ::eventfd_read(wake_.get(), &count);
  }
}

// --- Instances -----------------------------------------------------------------------------------

tl::expected<JoinedNetwork, model::Problem> HostNetwork::attach(
    const model::InstanceKey& key, const model::RunId& run, const model::InstanceNetwork& network) {
  return attach(key, run, network, Speaker::Programs);
}

tl::expected<JoinedNetwork, model::Problem> HostNetwork::attach_guest(
    const model::InstanceKey& key, const model::RunId& run, const model::InstanceNetwork& network) {
  return attach(key, run, network, Speaker::Guest);
}

tl::expected<JoinedNetwork, model::Problem> HostNetwork::attach(
    const model::InstanceKey& key, const model::RunId& run, const model::InstanceNetwork& network,
    Speaker speaker) {
  {
    std::unique_lock lock(told_mutex_);
    changed_.wait_for(lock, kTellPatience, [&] { return stopping_ || is_told_of(network.owner); });
  }
  const std::lock_guard lock(mutex_);
  take_told();
  const model::ProviderNetwork* in = network_of(wanted_, network.owner);
  if (in == nullptr) {
    return network_failed("this node was not told of the network of " + network.owner.value());
  }
  if (!is_realised_) realise();
  const auto problem = problems_.networks.find(network.owner);
  if (problem != problems_.networks.end()) {
    return network_failed(
        fmt::format("the network of {}: {}", network.owner.value(), problem->second));
  }
  if (!problems_.firewall.empty()) return network_failed("the firewall: " + problems_.firewall);
  const std::string name = instance_namespace(tag_, key);
  auto joined = prepare_for(speaker, name);
  if (joined) joined = join(name, key, network, *in);
  if (joined && speaker == Speaker::Guest) joined = plug_in_guest(name, parts_.mtu);
  if (!joined) {
    take_away(name);
    return network_failed(joined.error().message);
  }
  users_[key] = run;
  return JoinedNetwork{.network_namespace = NetworkNamespace::path_of(name),
                       .address = network.address,
                       .prefix = in->subnet.prefix,
                       .name_server = in->node_address,
                       .mac = to_string(mac_of_instance(network.address)),
                       .mtu = parts_.mtu};
}

// What one speaker has left would take the frames from the other: it begins anew.
Result<void> HostNetwork::prepare_for(Speaker speaker, const std::string& instance_namespace) {
  const auto inside = NetworkNamespace::open(instance_namespace);
  if (!inside || speaker == Speaker::Guest) return {};
  if (TRY(has_guest_device(*inside))) take_away(instance_namespace);
  return {};
}

Result<void> HostNetwork::join(const std::string& name, const model::InstanceKey& key,
                               const model::InstanceNetwork& network,
                               const model::ProviderNetwork& in) {
  const NetworkNamespace inside = TRY(NetworkNamespace::make(name));
  TRY(inside.run([] { return set_kernel(kInstanceSettings); }));
  Links links = TRY(Links::open(inside));
  Links& router = parts_.router_links;
  const auto bridge = TRY(router.find(bridge_device(in.vxlan)));
  if (!bridge) return not_found("the bridge is gone");
  auto outer = TRY(router.find(instance_device(name)));
  auto inner = TRY(links.find(kInstanceDevice));
  if (!outer || !inner || outer->master != bridge->index) {
    TRY(router.remove(instance_device(name)));
    TRY(links.remove(kInstanceDevice));
    TRY(router.make(VethSpec{.name = instance_device(name),
                             .alias = model::to_string(key),
                             .mtu = parts_.mtu,
                             .master = bridge->index,
                             .peer_name = kInstanceDevice,
                             .peer_mac = mac_of_instance(network.address),
                             .peer_namespace = inside.fd()}));
    inner = TRY(links.find(kInstanceDevice));
  }
  const auto loopback = TRY(links.find("lo"));
  if (!inner || !loopback) return not_found("a device of the instance is gone again");
  TRY(links.set_up(loopback->index));
  TRY(links.ensure_address(inner->index, network.address, in.subnet.prefix));
  TRY(links.set_up(inner->index));
  TRY(links.ensure_default_route(in.node_address));
  return inside.run([] { return announce(kInstanceDevice); });
}

void HostNetwork::release(const model::InstanceKey& key, const model::RunId& run) {
  const std::lock_guard lock(mutex_);
  const auto user = users_.find(key);
  if (user != users_.end() && user->second != run) return;
  if (has_live_run(config_.state_dir, key)) return;
  if (user != users_.end()) users_.erase(user);
  take_away(instance_namespace(tag_, key));
}

void HostNetwork::take_away(const std::string& instance_namespace) {
  static_cast<void>(parts_.router_links.remove(instance_device(instance_namespace)));
  NetworkNamespace::remove(instance_namespace);
}

int HostNetwork::open_socket(int family, int type) const {
  return parts_.router.open_socket(family, type);
}

// What an instance sends, its device at the router receives.
std::map<model::InstanceKey, Counters> HostNetwork::traffic() {
  const std::lock_guard lock(mutex_);
  std::map<model::InstanceKey, Counters> counted;
  const auto links = parts_.router_links.all();
  if (!links) return counted;
  for (const Link& link : *links) {
    if (!link.name.starts_with(kInstanceDevicePrefix)) continue;
    const auto key = parse_key(link.alias);
    if (key) counted[*key] = {.received = link.counters.sent, .sent = link.counters.received};
  }
  return counted;
}

Counters HostNetwork::traffic_of_node() {
  const std::lock_guard lock(mutex_);
  const auto uplink = parts_.router_links.find(kUplinkDevice);
  return uplink && *uplink ? (*uplink)->counters : Counters{};
}

}  // namespace berth::network
