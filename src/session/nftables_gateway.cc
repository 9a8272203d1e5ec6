#include "session/nftables_gateway.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/alarms.h"
#include "network/firewall.h"
#include "session/gateway_rules.h"
#include "session/listening.h"
#include "shell/clock.h"
#include "shell/log.h"

namespace berth::session {
namespace {

using Element = RuleTable::Element;

constexpr char kInsideTable[] = "berth-gateway";
constexpr Duration kSweepWait = 20ms;  // those that are closed together are swept together
constexpr Duration kPassWait = 500ms;  // until who was made to speak has heard the answer
constexpr std::uint32_t kPokes = 3;    // until that is surely heard
constexpr Duration kCutFor = 1s;       // until no packet is on its way that was let in before
constexpr Duration kLeftFor = 60s;     // what leads elsewhere, until it is asked for again
constexpr char kForwardSetting[] = "/proc/sys/net/ipv4/ip_forward";
constexpr char kLoopbackSetting[] = "/proc/sys/net/ipv4/conf/all/route_localnet";

std::string table_of(const std::string& tag) { return "berth-gateway-" + tag; }

std::optional<model::Ipv4> version_4(const Endpoint& endpoint) {
  return model::parse_ipv4(endpoint.address);
}

bool is_loopback(model::Ipv4 address) { return address.value >> 24 == 127; }

int socket_type(std::uint8_t protocol) {
  return protocol == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
}

// --- Elements of the sets

template <class Place>
std::string key_of_place(const Place& place) {
  ElementBytes key;
  if (place.address.value != 0) key.address(place.address);
  return key.protocol(place.protocol).port(place.port).get();
}
template <class Place, class Target>
Element target_element(const Place& place, const Target& target) {
  return {place.address.value == 0 ? sets::kAnyTargets : sets::kTargets, key_of_place(place),
          ElementBytes().address(target.address).port(target.port).get()};
}
template <class Place>
Element refused_element(const Place& place) {
  return {place.address.value == 0 ? sets::kAnyRefused : sets::kRefused, key_of_place(place)};
}
template <class Route>
std::string key_of_route(const Route& route) {
  return ElementBytes()
      .protocol(route.protocol)
      .port(route.port)
      .address(route.target.address)
      .port(route.target.port)
      .get();
}

Result<std::string> read_setting(const char* path) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  char value = 0;
  if (!file.is_open() || ::read(file.get(), &value, 1) != 1) {
    return Error{Code::Unavailable, fmt::format("{}: {}", path, std::strerror(errno))};
  }
  return std::string(1, value);
}

Result<void> write_setting(const char* path, const char* value) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || ::write(file.get(), value, std::strlen(value)) < 0) {
    return Error{Code::Unavailable, fmt::format("{}: {}", path, std::strerror(errno))};
  }
  return {};
}

bool is_of_this_machine(const Endpoint& target) {
  return hold_port({target.address, 0}, SOCK_DGRAM).has_value();
}

// A packet is led on once only: where another agent of this machine would do it again, somebody has
// to come from the machine itself.
bool is_for_rules(const Forward& forward) {
  for (const auto& target : {forward.tcp, forward.udp}) {
    if (!target) continue;
    if (!version_4(*target)) return false;
    if (forward.reach == Reach::Elsewhere && is_of_this_machine(*target)) return false;
  }
  return version_4(forward.listen).has_value();
}

// The rules stand before the setting does. Where somebody else has set it, that is as it was meant.
Result<void> allow_loopback_targets(const network::NetworkNamespace& machine) {
  if (TRY(read_setting(kLoopbackSetting)) == "1") return {};
  TRY(network::apply_rules(machine, loopback_rules()));
  return write_setting(kLoopbackSetting, "1");
}

// A table of an earlier release may have other sets under these names.
Result<void> make_table(const network::NetworkNamespace& where, const std::string& table,
                        const std::string& rules) {
  if (network::apply_rules(where, rules)) return {};
  return network::apply_rules(where, no_gateway_rules(table) + rules);
}

}  // namespace

NftablesGateway::Place NftablesGateway::Part::inner_place() const {
  return {{}, place.protocol, place.port};
}

std::optional<NftablesGateway::Route> NftablesGateway::Part::inner_route() const {
  if (!inside) return std::nullopt;
  return Route{place.protocol, place.port, *inside};
}

bool NftablesGateway::Part::leads_as(const Part& other) const {
  return target == other.target && inside == other.inside;
}

// --- Beginning and end -------------------------------------------------------------------------

Result<NftablesGateway::Side> NftablesGateway::open_side(network::NetworkNamespace where,
                                                         std::string table, std::string rules) {
  TRY(make_table(where, table, rules));
  auto elements = TRY(RuleTable::open(where, table));
  auto connections = TRY(Conntrack::open(where));
  auto listing = TRY(Conntrack::open(where));
  auto poker = TRY(Poker::open(where));
  return Side{std::move(where),       std::move(rules),   std::move(elements),
              std::move(connections), std::move(listing), std::move(poker)};
}

Result<std::unique_ptr<NftablesGateway>> NftablesGateway::open(Config config,
                                                               GatewayCallbacks callbacks) {
  if (::access(kLoopbackSetting, W_OK) != 0) {
    return Error{Code::Unavailable,
                 fmt::format("{} cannot be written: {}", kLoopbackSetting, std::strerror(errno))};
  }
  const std::string table = table_of(config.tag);
  auto own = TRY(network::NetworkNamespace::own());
  auto machine = TRY(open_side(std::move(own), table, gateway_rules(table)));
  std::optional<Side> inside;
  if (config.inside) {
    auto where = TRY(network::NetworkNamespace::open(config.inside->network_namespace));
    inside = TRY(open_side(std::move(where), kInsideTable, inner_gateway_rules(kInsideTable)));
  }
  auto poller = TRY(Poller::open());
  std::unique_ptr<NftablesGateway> made(new NftablesGateway(std::move(config), std::move(callbacks),
                                                            std::move(poller), std::move(machine),
                                                            std::move(inside)));
  TRY(made->start());
  return made;
}

NftablesGateway::NftablesGateway(Config config, GatewayCallbacks callbacks,
                                 std::unique_ptr<Poller> poller, Side machine,
                                 std::optional<Side> inside)
    : tag_(std::move(config.tag)),
      inside_address_(config.inside ? std::optional(config.inside->address) : std::nullopt),
      rest_(std::move(config.rest)),
      callbacks_(std::move(callbacks)),
      poller_(std::move(poller)),
      machine_(std::move(machine)),
      inside_(std::move(inside)) {}

// What happens to connections is heard from before they are counted.
Result<void> NftablesGateway::start() {
  auto socket = TRY(ConntrackEvents::open_socket());
  {
    const auto lock = poller_->enter();
    TRY(read_left());
    events_.emplace(*poller_, std::move(socket), [this](auto) { hear(); });
    if (!events_->want(EPOLLIN))
      return Error{Code::Exhausted, "the kernel watches no more sockets"};
  }
  poller_->start(
      {.tend = [this](Time now) { return tend(now); }, .deliver = [this] { deliver(); }});
  return {};
}

NftablesGateway::~NftablesGateway() {
  poller_->stop();
  const auto lock = poller_->enter();
  events_.reset();
}

Result<void> NftablesGateway::remove_all(const std::string& tag) {
  const std::string name = table_of(tag);
  const auto machine = TRY(network::NetworkNamespace::own());
  auto table = TRY(RuleTable::open(machine, name));
  std::set<std::string> ours;
  for (const char* set : {sets::kLive, sets::kCut}) {
    const auto elements = table.elements(set);
    if (!elements && elements.error().code == Code::NotFound) return {};  // there is no table
    if (!elements) return elements.error();
    for (const Element& element : *elements) ours.insert(element.key);
  }
  TRY(network::apply_rules(machine, no_gateway_rules(name)));
  if (ours.empty()) return {};
  auto connections = TRY(Conntrack::open(machine));
  for (const TrackedConnection& one : TRY(connections.list())) {
    if (ours.contains(key_of_route(route_of(one)))) TRY(connections.remove(one.connection));
  }
  return {};
}

// --- What an earlier life has left -------------------------------------------------------------

// Reads the tables. What belongs to no connection that could be ours is not looked at.
class NftablesGateway::LeftReader {
 public:
  explicit LeftReader(NftablesGateway& gateway) : gateway_(gateway) {}

  Result<void> read() {
    for (const Element& one : TRY(table().elements(sets::kLive))) live_.insert(one.key);
    if (gateway_.inside_) {
      for (const Element& one : TRY(gateway_.inside_->table.elements(sets::kAnyTargets))) {
        inner_.emplace(one.key, one.value);
      }
    }
    for (const Element& one : TRY(table().elements(sets::kTargets))) add_open(one);
    for (const Element& one : TRY(table().elements(sets::kAnyTargets))) add_open(one);
    for (const Element& one : TRY(table().elements(sets::kRefused))) add_refused(one);
    for (const Element& one : TRY(table().elements(sets::kAnyRefused))) add_refused(one);
    for (const Element& one : TRY(table().elements(sets::kCut))) add_cut(one);
    return {};
  }

 private:
  RuleTable& table() { return gateway_.machine_.table; }

  static Place read_place(const Element& element) {
    ElementReader reader(element.key);
    Place place;
    const bool is_any = element.set == sets::kAnyTargets || element.set == sets::kAnyRefused;
    if (!is_any) place.address = reader.address();
    place.protocol = reader.protocol();
    place.port = reader.port();
    return place;
  }
  static Target read_target(const std::string& value) {
    ElementReader reader(value);
    Target target;
    target.address = reader.address();
    target.port = reader.port();
    return target;
  }
  static Route read_route(const std::string& key) {
    ElementReader reader(key);
    Route route;
    route.protocol = reader.protocol();
    route.port = reader.port();
    route.target.address = reader.address();
    route.target.port = reader.port();
    return route;
  }

  void add(Part part) {
    const auto inner = inner_.find(key_of_place(part.inner_place()));
    const bool leads_inside =
        gateway_.inside_address_ && part.target.address == *gateway_.inside_address_;
    if (leads_inside && inner != inner_.end()) part.inside = read_target(inner->second);
    gateway_.left_.insert_or_assign(part.place, std::move(part));
  }
  void add_open(const Element& element) {
    Part part{.place = read_place(element), .target = read_target(element.value), .inside = {}};
    if (live_.erase(key_of_route(part.route())) > 0) add(std::move(part));
  }
  // Where it leads only its connections tell.
  void add_refused(const Element& element) {
    const Place place = read_place(element);
    for (const std::string& key : live_) {
      const Route route = read_route(key);
      if (route.protocol != place.protocol || route.port != place.port) continue;
      return add({.place = place, .target = route.target, .inside = {}, .refuses = true});
    }
  }
  void add_cut(const Element& element) {
    const Time now = shell::now();
    gateway_.cuts_.emplace(read_route(element.key), Cut{.inner = {}, .since = now});
    gateway_.sweep_at_ = now;
  }

  NftablesGateway& gateway_;
  std::set<std::string> live_;                // routes
  std::map<std::string, std::string> inner_;  // targets by places
};

Result<void> NftablesGateway::read_left() { return LeftReader(*this).read(); }

// What leads elsewhere only the control plane knows of: it tells it again when it is heard.
void NftablesGateway::settle() {
  if (rest_) rest_->settle();
  const auto lock = poller_->enter();
  std::vector<Part> unwanted;
  for (auto next = left_.begin(); next != left_.end();) {
    const auto one = next++;
    if (leads_elsewhere(one->second)) continue;
    unwanted.push_back(std::move(left_.extract(one).mapped()));
  }
  end(unwanted);
  if (!left_.empty()) end_left_at_ = shell::now() + kLeftFor;
  must_list_ = true;
  poller_->wake();
}

// It goes on as it is, if it is the same.
void NftablesGateway::inherit(Part& part) {
  auto found = left_.extract(part.place);
  if (found.empty()) return;
  if (found.mapped().leads_as(part)) {
    part.refuses = found.mapped().refuses;
    return;
  }
  std::vector<Part> other;
  other.push_back(std::move(found.mapped()));
  end(other);
}

// --- Opening and closing -----------------------------------------------------------------------

Result<NftablesGateway::Part> NftablesGateway::make_part(const Forward& forward,
                                                         std::uint8_t protocol,
                                                         const Endpoint& target) {
  Part part;
  part.place = {*version_4(forward.listen), protocol, forward.listen.port};
  part.target = {*version_4(target), target.port};
  if (forward.reach == Reach::Network && inside_) {
    part.inside = std::exchange(part.target, {*inside_address_, forward.listen.port});
  }
  part.hold = TRY(hold_port(forward.listen, socket_type(protocol)));
  TRY(lead_to_loopback(part));
  return part;
}

Result<std::vector<NftablesGateway::Part>> NftablesGateway::make_parts(const Forward& forward) {
  std::vector<Part> parts;
  if (forward.tcp) parts.push_back(TRY(make_part(forward, IPPROTO_TCP, *forward.tcp)));
  if (forward.udp) parts.push_back(TRY(make_part(forward, IPPROTO_UDP, *forward.udp)));
  return parts;
}

// The kernel lets nothing pass between the loopback and other devices unless it is told to.
Result<void> NftablesGateway::lead_to_loopback(const Part& part) {
  const bool is_one_side = is_loopback(part.place.address) != is_loopback(part.target.address);
  if (!is_one_side || leads_to_loopback_) return {};
  TRY(allow_loopback_targets(machine_.where));
  leads_to_loopback_ = true;
  return {};
}

Result<void> NftablesGateway::lead_elsewhere(const Forward& forward) {
  if (forward.reach != Reach::Elsewhere || leads_elsewhere_) return {};
  TRY(write_setting(kForwardSetting, "1"));
  leads_elsewhere_ = true;
  return {};
}

bool NftablesGateway::leads_elsewhere(const Part& part) const {
  return !part.inside && !is_loopback(part.target.address) &&
         part.target.address != inside_address_.value_or(model::Ipv4{});
}

Result<void> NftablesGateway::open(const Forward& forward) {
  TRY(check_forward(forward));
  if (!is_for_rules(forward)) {
    return rest_ ? rest_->open(forward) : invalid_input("it cannot be forwarded by rules");
  }
  const auto lock = poller_->enter();
  if (const auto known = forwards_.find(forward.id); known != forwards_.end()) {
    if (known->second.forward == forward) return {};
    return Error{Code::Conflict, fmt::format("forward {} is open already", forward.id)};
  }
  TRY(lead_elsewhere(forward));
  OpenForward made{.forward = forward, .parts = TRY(make_parts(forward))};
  for (const Part& part : made.parts) {
    if (!by_route_.contains(part.route())) continue;
    return Error{Code::Conflict, fmt::format("port {} leads there already", part.place.port)};
  }
  TRY(add(made.parts));
  for (const Part& part : made.parts) by_route_.emplace(part.route(), forward.id);
  forwards_.emplace(forward.id, std::move(made));
  return {};
}

// First where it leads to, then how to come there.
Result<void> NftablesGateway::add(std::vector<Part>& parts) {
  Both changes;
  for (Part& part : parts) {
    inherit(part);
    forget_cut(part);
    put(part, changes);
  }
  if (try_commit(changes)) return {};
  TRY(mend());
  return try_commit(changes);
}

void NftablesGateway::put(const Part& part, Both& changes) {
  const std::string route = key_of_route(part.route());
  changes.machine.add.push_back({sets::kLive, route});
  changes.machine.add.push_back({sets::kSent, route});
  changes.machine.add.push_back(entrance(part));
  if (part.inside) {
    changes.inside.add.push_back(target_element(part.inner_place(), *part.inside));
  }
}

void NftablesGateway::take_away(const Part& part, Both& changes) {
  const std::string route = key_of_route(part.route());
  changes.machine.remove.push_back(entrance(part));
  changes.machine.remove.push_back({sets::kLive, route});
  changes.machine.remove.push_back({sets::kSent, route});
  changes.machine.add.push_back({sets::kCut, route});
  if (part.inside) {
    changes.inside.remove.push_back(target_element(part.inner_place(), *part.inside));
  }
}

RuleTable::Element NftablesGateway::entrance(const Part& part) {
  return part.refuses ? refused_element(part.place) : target_element(part.place, part.target);
}

// Somebody was cut off this very way: the kernel must forget them before others may use it.
void NftablesGateway::forget_cut(const Part& part) {
  const auto found = cuts_.find(part.route());
  if (found == cuts_.end()) return;
  const auto end_all = [this](Side& side, Which which) {
    const auto all = side.connections.list();
    if (!all) return;
    for (const auto& [route, one] : find_cut(*all, which)) {
      poke(cuts_.at(route), one, side);
      forget(one, side);
    }
  };
  if (inside_) end_all(*inside_, Which::Inner);
  end_all(machine_, Which::Outer);
  cuts_.erase(found);
  Both changes;
  changes.machine.remove.push_back({sets::kCut, key_of_route(part.route())});
  commit(changes);
}

void NftablesGateway::refuse_new(const std::string& id) {
  if (rest_) rest_->refuse_new(id);
  const auto lock = poller_->enter();
  const auto found = forwards_.find(id);
  if (found == forwards_.end()) return;
  Both changes;
  for (Part& part : found->second.parts) {
    if (part.refuses) continue;
    changes.machine.remove.push_back(entrance(part));
    part.refuses = true;
    changes.machine.add.push_back(entrance(part));
  }
  commit(changes);
}

void NftablesGateway::close(const std::string& id) {
  if (rest_) rest_->close(id);
  const auto lock = poller_->enter();
  auto found = forwards_.extract(id);
  if (found.empty()) return;
  for (const Part& part : found.mapped().parts) by_route_.erase(part.route());
  std::erase_if(connections_, [&](const auto& one) { return one.second == id; });
  changed_.erase(id);
  end(found.mapped().parts);
}

// The rules refuse at once whoever is connected; that they are forgotten can wait.
void NftablesGateway::end(const std::vector<Part>& parts) {
  if (parts.empty()) return;
  Both changes;
  const Time now = shell::now();
  for (const Part& part : parts) {
    take_away(part, changes);
    cuts_.insert_or_assign(part.route(), Cut{.inner = part.inner_route(), .since = now});
  }
  commit(changes);
  take_earlier(sweep_at_, std::optional(now + kSweepWait));
  poller_->wake();
}

// --- The kernel --------------------------------------------------------------------------------

Result<void> NftablesGateway::try_commit(const Both& changes) {
  if (inside_) TRY(inside_->table.change(changes.inside));
  return machine_.table.change(changes.machine);
}

// What is written down here holds: if the kernel has something else, it is told all of it again.
void NftablesGateway::commit(const Both& changes) {
  const auto done = try_commit(changes);
  if (done) return;
  const auto mended = mend();
  shell::log(shell::LogLevel::Warning, "the rules of the gateway had to be made again",
             {{"why", done.error().message}, {"result", mended ? "ok" : mended.error().message}});
}

Result<void> NftablesGateway::mend() {
  const std::string table = table_of(tag_);
  TRY(network::apply_rules(machine_.where, no_gateway_rules(table) + machine_.rules));
  if (inside_) {
    TRY(network::apply_rules(inside_->where, no_gateway_rules(kInsideTable) + inside_->rules));
  }
  Both all;
  for (const auto& [id, forward] : forwards_) {
    for (const Part& part : forward.parts) put(part, all);
  }
  for (const auto& [place, part] : left_) put(part, all);
  for (const auto& [route, cut] : cuts_) {
    all.machine.add.push_back({sets::kCut, key_of_route(route)});
  }
  return try_commit(all);
}

// --- Connections -------------------------------------------------------------------------------

NftablesGateway::Route NftablesGateway::route_of(const TrackedConnection& tracked) {
  const Connection& connection = tracked.connection;
  return {connection.protocol, connection.asked_port, {tracked.target, tracked.target_port}};
}

NftablesGateway::OpenForward* NftablesGateway::find_by_route(const TrackedConnection& tracked) {
  const auto found = by_route_.find(route_of(tracked));
  return found == by_route_.end() ? nullptr : &forwards_.at(found->second);
}

void NftablesGateway::hear() {
  const auto news = ConntrackEvents::read(events_->fd());
  must_list_ |= news.was_lost;
  for (const TrackedConnection& one : news.connections) take_news(one);
}

void NftablesGateway::take_news(const TrackedConnection& tracked) {
  OpenForward* forward = find_by_route(tracked);
  if (forward == nullptr) return;
  if (tracked.is_over) {
    if (connections_.erase(tracked.connection) == 0) return;
    --forward->open;
  } else {
    if (!connections_.emplace(tracked.connection, forward->forward.id).second) return;
    ++forward->connections;
    ++forward->open;
  }
  changed_.insert(forward->forward.id);
}

std::optional<Traffic> NftablesGateway::traffic(const std::string& id) {
  {
    const auto lock = poller_->enter();
    const auto found = forwards_.find(id);
    if (found != forwards_.end()) {
      hear();  // what is known by now
      Traffic traffic{.connections = found->second.connections, .open = found->second.open};
      for (const Part& part : found->second.parts) {
        const std::string key = key_of_route(part.route());
        traffic.bytes_in += machine_.table.bytes(sets::kLive, key).value_or(0);
        traffic.bytes_out += machine_.table.bytes(sets::kSent, key).value_or(0);
      }
      return traffic;
    }
  }
  return rest_ ? rest_->traffic(id) : std::nullopt;
}

// --- The thread --------------------------------------------------------------------------------

std::optional<Time> NftablesGateway::tend(Time now) {
  if (sweep_at_ && *sweep_at_ <= now) {
    sweep_at_.reset();
    must_sweep_ = true;
  }
  if (end_left_at_ && *end_left_at_ <= now) {
    end_left_at_.reset();
    std::vector<Part> unwanted;
    for (auto& [place, part] : std::exchange(left_, {})) unwanted.push_back(std::move(part));
    end(unwanted);
  }
  std::optional<Time> next = sweep_at_;
  take_earlier(next, end_left_at_);
  return next;
}

void NftablesGateway::deliver() {
  bool sweeps = false;
  bool lists = false;
  {
    const auto lock = poller_->enter();
    sweeps = std::exchange(must_sweep_, false);
    lists = std::exchange(must_list_, false);
  }
  if (lists) list_all();
  tell_news();
  if (sweeps) sweep();
}

void NftablesGateway::list_all() {
  const auto all = machine_.listing.list();
  if (!all) return;
  const auto lock = poller_->enter();
  std::set<Connection> alive;
  for (const TrackedConnection& one : *all) {
    if (!one.is_over) alive.insert(one.connection);
  }
  for (auto known = connections_.begin(); known != connections_.end();) {
    if (alive.contains(known->first)) {
      ++known;
      continue;
    }
    --forwards_.at(known->second).open;
    changed_.insert(known->second);
    known = connections_.erase(known);
  }
  for (const TrackedConnection& one : *all) take_news(one);
}

void NftablesGateway::tell_news() {
  struct News {
    std::string id;
    bool used = false;
    std::optional<std::uint32_t> open;
  };
  std::vector<News> all;
  {
    const auto lock = poller_->enter();
    for (const std::string& id : std::exchange(changed_, {})) {
      OpenForward& forward = forwards_.at(id);
      News news{.id = id, .used = forward.connections > 0 && !forward.used_told, .open = {}};
      forward.used_told |= news.used;
      if (std::exchange(forward.open_told, forward.open) != forward.open) news.open = forward.open;
      all.push_back(std::move(news));
    }
  }
  for (const News& news : all) {
    if (news.used) callbacks_.used(news.id);
    if (news.open) callbacks_.connections(news.id, *news.open);
  }
}

// First those who are silent are made to speak, and hear that they are cut: more than once, for a
// peer answers what is nothing new to it twice a second at most, and another gateway on the way may
// have asked just before. Later the kernel forgets them, from inside out: an answer that came after
// the outer entry is gone would look like a connection of the instance's own.
void NftablesGateway::sweep() {
  {
    const auto lock = poller_->enter();
    for (auto& [route, cut] : cuts_) ++cut.passes;
  }
  const auto inner = inside_ ? inside_->listing.list() : std::vector<TrackedConnection>();
  const auto outer = machine_.listing.list();
  const auto lock = poller_->enter();
  std::set<Route> busy;
  if (inner && inside_) sweep_one(find_cut(*inner, Which::Inner), *inside_, busy);
  if (outer) sweep_one(find_cut(*outer, Which::Outer), machine_, busy);
  Both changes;
  const Time now = shell::now();
  std::erase_if(cuts_, [&](const auto& one) {
    const bool is_old = one.second.since + kCutFor <= now && one.second.passes > 1;
    const bool is_over = inner && outer && is_old && !busy.contains(one.first);
    if (is_over) changes.machine.remove.push_back({sets::kCut, key_of_route(one.first)});
    return is_over;
  });
  commit(changes);
  if (cuts_.empty()) return;
  take_earlier(sweep_at_, std::optional(now + kPassWait));
  poller_->wake();
}

void NftablesGateway::sweep_one(const CutConnections& found, Side& side, std::set<Route>& busy) {
  for (const auto& [route, tracked] : found) {
    const Cut& cut = cuts_.at(route);
    busy.insert(route);
    const bool is_told = cut.passes > kPokes || tracked.is_over;
    if (cut.passes > 0 && !is_told) poke(cut, tracked, side);
    if (is_told && cut.passes > 0) forget(tracked, side);
  }
}

NftablesGateway::CutConnections NftablesGateway::find_cut(const std::vector<TrackedConnection>& all,
                                                          Which which) const {
  std::map<Route, Route> cut;  // as this side has it, and as the machine has
  for (const auto& [route, one] : cuts_) {
    if (which == Which::Outer) cut.emplace(route, route);
    if (which == Which::Inner && one.inner) cut.emplace(*one.inner, route);
  }
  CutConnections found;
  for (const TrackedConnection& one : all) {
    const auto whose = cut.find(route_of(one));
    if (whose != cut.end()) found.emplace_back(whose->second, one);
  }
  return found;
}

// Each end is reached from the side that it is on.
void NftablesGateway::poke(const Cut& cut, const TrackedConnection& tracked,
                           const Side& side) const {
  const Connection& connection = tracked.connection;
  if (connection.protocol != IPPROTO_TCP) return;
  const bool is_inner = &side != &machine_;
  if (!is_inner) {
    side.poker.poke({connection.client, connection.client_port},
                    {connection.asked, connection.asked_port});
  }
  if (is_inner || !cut.inner) {
    side.poker.poke({tracked.target, tracked.target_port}, {tracked.seen, tracked.seen_port});
  }
}

void NftablesGateway::forget(const TrackedConnection& tracked, Side& side) {
  const auto removed = side.connections.remove(tracked.connection);
  if (removed) return;
  shell::log(shell::LogLevel::Warning, "a connection that was cut is not forgotten",
             {{"why", removed.error().message}});
}

}  // namespace berth::session
