#include "agentd/pool_performer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "agentd/machine.h"
#include "session/forwarder.h"
#include "shell/clock.h"
#include "shell/log.h"

namespace berth::agentd {
namespace {

using shell::LogLevel;

constexpr std::size_t kNotesMax = 100'000;
constexpr char kMachine[] = "127.0.0.1";

// Those that are outside at the same number, of TCP and of UDP, are one forward.
Result<std::vector<session::Forward>> to_forwards(const agent::OpenEndpoints& what) {
  std::map<std::pair<std::string, std::uint16_t>, session::Forward> forwards;
  for (const model::SessionPort& port : what.ports) {
    const auto target = session::parse_endpoint(port.internal);
    if (!target) {
      return Error{Code::Internal, fmt::format("nothing listens for port {}", port.port.number)};
    }
    session::Forward& forward = forwards[{port.external_address, port.external}];
    forward.listen = {port.external_address, port.external};
    forward.reach = what.is_elsewhere             ? session::Reach::Elsewhere
                    : target->address == kMachine ? session::Reach::Machine
                                                  : session::Reach::Network;
    (port.port.protocol == model::Protocol::Tcp ? forward.tcp : forward.udp) = *target;
  }
  std::vector<session::Forward> all;
  for (auto& [outside, forward] : forwards) all.push_back(std::move(forward));
  return all;
}

}  // namespace

Result<std::unique_ptr<PoolPerformer>> PoolPerformer::open(PoolAccess access, Tell tell) {
  std::unique_ptr<PoolPerformer> made(new PoolPerformer(std::move(access), std::move(tell)));
  PoolPerformer& self = *made;
  if (self.access_.runs) self.sockets_.remove_all_but(self.access_.runs());
  self.service_ = TRY(session::SessionService::open({}, self.app_callbacks()));
  self.gateway_ = TRY(self.make_gateway());
  self.resume();
  return made;
}

PoolPerformer::PoolPerformer(PoolAccess access, Tell tell)
    : access_(std::move(access)),
      tell_(std::move(tell)),
      sockets_(access_.sockets),
      ports_(static_cast<std::uint64_t>(shell::now().time_since_epoch().count())),
      notes_(1, kNotesMax) {}

PoolPerformer::~PoolPerformer() { stop(); }

void PoolPerformer::stop() {
  notes_.wait_until_idle();
  notes_.stop();
  service_.reset();
  gateway_.reset();
}

Result<std::unique_ptr<session::Gateway>> PoolPerformer::make_gateway() {
  session::GatewayCallbacks callbacks{.used = [this](const std::string& id) { used(id); },
                                      .connections = [](const std::string&, std::uint32_t) {}};
  if (access_.gateway) return access_.gateway(std::move(callbacks));
  session::Forwarder::Config config;
  config.network_socket = access_.network_socket;
  return Result<std::unique_ptr<session::Gateway>>(
      TRY(session::Forwarder::open(std::move(config), std::move(callbacks))));
}

void PoolPerformer::perform(const agent::PoolAction& action) {
  if (service_ == nullptr) return;
  std::visit([this](const auto& one) { begin(one); }, action);
}

session::SessionCallbacks PoolPerformer::app_callbacks() {
  using Key = model::InstanceKey;
  return {.connected = [this](const Key& key) { tell_(agent::AppConnected{key}); },
          .disconnected = [this](const Key& key) { tell_(agent::AppDisconnected{key}); },
          .opened =
              [this](const Key& key, const std::string& session, const std::string& problem) {
                tell_(agent::AppOpened{key, session, problem});
              },
          .closed =
              [this](const Key& key, const std::string& session) {
                tell_(agent::AppClosed{key, session});
              },
          .pinged = [this](const Key& key) { tell_(agent::AppPinged{key}); },
          .clients =
              [this](const Key& key, const std::string& session, std::uint32_t count) {
                tell_(agent::AppCounted{key, session, count});
              }};
}

// --- Instances ---------------------------------------------------------------------------------

void PoolPerformer::begin(const agent::Furnish& what) {
  auto furnished = furnish(what);
  if (furnished) return tell_(*std::move(furnished));
  unfurnish(what.key);
  tell_(agent::Furnished{what.key, {}, "", "", furnished.error().message});
}

Result<agent::Furnished> PoolPerformer::furnish(const agent::Furnish& what) {
  agent::Furnished furnished{what.key, TRY(find_ports(what)), "", "", ""};
  end_left_at(furnished.ports);
  if (!what.service) return furnished;
  furnished.socket = sockets_.path_of(what.key);
  furnished.token = make_boot_id();
  TRY(serve(what.key, furnished.token));
  return furnished;
}

// One number of the machine for each of the item, whatever its protocols: it is told by one
// variable.
Result<std::vector<model::SessionPort>> PoolPerformer::find_ports(const agent::Furnish& what) {
  std::map<std::uint16_t, std::uint16_t> numbers;
  for (const model::Port& port : what.ports) numbers[port.number] = port.number;
  if (!what.address) {
    auto own = TRY(ports_.take(what.key, numbers.size()));
    for (auto& [number, at] : numbers) {
      at = own.back();
      own.pop_back();
    }
  }
  const std::string address = what.address ? to_string(*what.address) : kMachine;
  std::vector<model::SessionPort> ports;
  for (const model::Port& port : what.ports) {
    ports.push_back({port, "", 0, session::to_string({address, numbers[port.number]})});
  }
  return ports;
}

Result<void> PoolPerformer::serve(const model::InstanceKey& key, const std::string& token) {
  TRY(sockets_.make_room(key));
  return service_->serve(key, sockets_.path_of(key), token);
}

// An app that cannot be served is found out by its silence.
void PoolPerformer::begin(const agent::ServeApp& what) {
  for (const model::SessionPort& port : what.ports) {
    const auto internal = session::parse_endpoint(port.internal);
    if (internal && internal->address == kMachine) ports_.keep(what.key, internal->port);
  }
  if (what.token.empty()) return;
  const auto served = serve(what.key, what.token);
  if (served) return;
  shell::log(LogLevel::Warning, "an app cannot reach the session service",
             {{"instance", model::to_string(what.key)}, {"why", served.error().message}});
}

void PoolPerformer::begin(const agent::Unfurnish& what) { unfurnish(what.key); }

void PoolPerformer::unfurnish(const model::InstanceKey& key) {
  service_->end(key);
  sockets_.remove(key);
  ports_.release(key);
  take_note(key);
}

// However slow the disk is, one note waits at most: the newest.
void PoolPerformer::begin(const agent::KeepNote& keep) {
  if (!access_.keep_note) return;
  {
    const std::lock_guard lock(mutex_);
    if (!unwritten_.insert_or_assign(keep.key, keep).second) return;
  }
  const bool taken = notes_.submit(model::to_string(keep.key), [this, key = keep.key] {
    if (const auto note = take_note(key)) access_.keep_note(*note);
  });
  if (!taken) take_note(keep.key);
}

std::optional<agent::KeepNote> PoolPerformer::take_note(const model::InstanceKey& key) {
  const std::lock_guard lock(mutex_);
  auto note = unwritten_.extract(key);
  if (note.empty()) return std::nullopt;
  return std::move(note.mapped());
}

// --- Sessions ----------------------------------------------------------------------------------

void PoolPerformer::begin(const agent::OpenInApp& open) {
  service_->open(open.key, open.session, open.data);
}

void PoolPerformer::begin(const agent::CloseInApp& close) {
  service_->close(close.key, close.session, close.grace);
}

// By what was noted, and before the core knows of any of it: whoever is connected stays so, if the
// gateway can do that, and what nobody has noted is closed.
void PoolPerformer::resume() {
  const auto notes = access_.notes ? access_.notes() : decltype(access_.notes())();
  for (const auto& [key, note] : notes) {
    for (const model::KeptSession& kept : note.sessions) {
      const bool is_closing = kept.state == model::SessionState::Closing;
      if (!is_closing && !model::is_usable(kept.state)) continue;
      const model::SessionSpec& session = kept.session;
      if (!open_all({session.ref, key, session.ports})) {
        close_all(session.ref);  // it is said why when the core asks
        continue;
      }
      left_.emplace(session.ref, session.ports);
      if (is_closing) begin(agent::RefuseNew{session.ref});
    }
  }
  gateway_->settle();
}

bool PoolPerformer::is_resumed(const agent::OpenEndpoints& what) {
  const auto left = left_.extract(what.ref);
  return !left.empty() && left.mapped() == what.ports;
}

// Where a new instance will listen nobody is led who came for another one, should that have ended
// while nobody looked.
void PoolPerformer::end_left_at(const std::vector<model::SessionPort>& ports) {
  std::vector<model::SessionRef> strangers;
  for (const auto& [ref, theirs] : left_) {
    for (const model::SessionPort& port : theirs) {
      const bool is_same = std::ranges::any_of(
          ports, [&](const model::SessionPort& own) { return own.internal == port.internal; });
      if (is_same) strangers.push_back(ref);
    }
  }
  for (const model::SessionRef& ref : strangers) close_all(ref);
}

void PoolPerformer::begin(const agent::OpenEndpoints& what) {
  if (is_resumed(what)) {
    tell_(agent::EndpointsOpened{what.ref, what.instance, "", false});
    return tell_if_used(what);
  }
  close_all(what.ref);
  const auto opened = open_all(what);
  if (!opened) close_all(what.ref);
  tell_(agent::EndpointsOpened{what.ref, what.instance, opened ? "" : opened.error().message,
                               !opened && opened.error().code == Code::Conflict});
}

// An address that others reach the machine at may be one of a router before it.
Result<void> PoolPerformer::open_here(session::Forward forward) {
  const auto opened = gateway_->open(forward);
  if (opened || opened.error().code != Code::InvalidInput) return opened;
  forward.listen.address = "0.0.0.0";
  return gateway_->open(forward);
}

// Known before it is open: somebody may come at once.
Result<void> PoolPerformer::open_all(const agent::OpenEndpoints& what) {
  for (session::Forward& forward : TRY(to_forwards(what))) {
    forward.id = std::to_string(++last_forward_);
    forwards_[what.ref].push_back(forward.id);
    {
      const std::lock_guard lock(mutex_);
      sessions_.emplace(forward.id, Session{what.ref, what.instance});
    }
    TRY(open_here(std::move(forward)));
  }
  return {};
}

void PoolPerformer::begin(const agent::RefuseNew& refuse) {
  const auto found = forwards_.find(refuse.ref);
  if (found == forwards_.end()) return;
  for (const std::string& id : found->second) gateway_->refuse_new(id);
}

void PoolPerformer::begin(const agent::CloseEndpoints& close) {
  close_all(close.ref);
  tell_(agent::EndpointsClosed{close.ref, close.instance});
}

void PoolPerformer::close_all(const model::SessionRef& ref) {
  left_.erase(ref);
  const auto found = forwards_.extract(ref);
  if (found.empty()) return;
  for (const std::string& id : found.mapped()) {
    gateway_->close(id);
    const std::lock_guard lock(mutex_);
    sessions_.erase(id);
  }
}

void PoolPerformer::used(const std::string& forward) {
  std::optional<Session> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(forward);
    if (found != sessions_.end()) {
      found->second.used = true;
      session = found->second;
    }
  }
  if (session) tell_(agent::EndpointUsed{session->ref, session->instance});
}

// It was told already, perhaps, when the core did not know the session yet.
void PoolPerformer::tell_if_used(const agent::OpenEndpoints& what) {
  bool is_used = false;
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& id : forwards_[what.ref]) is_used |= sessions_.at(id).used;
  }
  if (is_used) tell_(agent::EndpointUsed{what.ref, what.instance});
}

}  // namespace berth::agentd
