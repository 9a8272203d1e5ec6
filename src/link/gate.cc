#include "link/gate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "link/limits.h"
#include "link/peer.h"
#include "shell/log.h"

namespace berth::link {
namespace {

using shell::Guests;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLookEvery{500};         // while there are strangers
constexpr milliseconds kPauseWithoutRoom{100};  // before accepting is tried again
constexpr std::chrono::minutes kComplainEvery{1};
constexpr int kBacklog = 4096;
constexpr int kAcceptedAtOnce = 64;  // before others have their turn

// What an event of epoll is about, beside guests, whose numbers begin at 1.
constexpr std::uint64_t kCall = 0;
constexpr std::uint64_t kListener = ~std::uint64_t{0};

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// --- Addresses.

struct Peer {
  std::string address;  // "127.0.0.1"; of IPv6 the network, which is one owner's
  std::string text;     // with the port, as gRPC writes it
};

Peer peer_of(const in_addr& v4, in_port_t port) {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &v4, text.data(), text.size());
  return {text.data(), fmt::format("{}:{}", text.data(), ntohs(port))};
}

Peer peer_of(const sockaddr_in6& v6) {
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    in_addr v4{};
    std::memcpy(&v4, v6.sin6_addr.s6_addr + 12, sizeof v4);
    return peer_of(v4, v6.sin6_port);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  const std::string scope = v6.sin6_scope_id == 0 ? "" : fmt::format("%{}", v6.sin6_scope_id);
  Peer peer{"", fmt::format("[{}{}]:{}", text.data(), scope, ntohs(v6.sin6_port))};
  in6_addr network = v6.sin6_addr;
  std::memset(network.s6_addr + 8, 0, 8);
  inet_ntop(AF_INET6, &network, text.data(), text.size());
  peer.address = text.data();
  return peer;
}

// Nullopt: it is not connected (any more).
std::optional<Peer> peer_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return std::nullopt;
  }
  if (address.ss_family == AF_INET6) return peer_of(reinterpret_cast<sockaddr_in6&>(address));
  if (address.ss_family != AF_INET) return std::nullopt;
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  return peer_of(v4.sin_addr, v4.sin_port);
}

bool is_connected_to(int descriptor, const std::string& peer) {
  const auto now = peer_of(descriptor);
  return now && now->text == peer;
}

// --- Listening.

Error cannot_listen(const GateConfig& config, const char* why) {
  return {Code::Unavailable,
          fmt::format("cannot listen on {}:{}: {}", config.host, config.port, why)};
}

void set_option(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);
}

// What is set here, connections inherit: small messages go at once, and data that nobody
// acknowledges mean that the peer is gone.
Descriptor bound_to(const addrinfo& where, std::uint16_t port) {
  Descriptor bound(socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (bound.get() < 0) return bound;
  set_option(bound.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(bound.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(bound.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, kServerPingTimeoutMs);
  if (where.ai_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(*where.ai_addr);
    set_option(bound.get(), IPPROTO_IPV6, IPV6_V6ONLY,
               IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) ? 0 : 1);
  }
  sockaddr_storage address{};
  std::memcpy(&address, where.ai_addr, where.ai_addrlen);
  auto& any = reinterpret_cast<sockaddr_in&>(address);  // the port is at the same place of both
  any.sin_port = htons(port);
  if (bind(bound.get(), reinterpret_cast<sockaddr*>(&address), where.ai_addrlen) == 0 &&
      ::listen(bound.get(), kBacklog) == 0) {
    return bound;
  }
  return Descriptor();
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> addresses_of(const GateConfig& config, const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* first = nullptr;
  const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &first);
  if (failed != 0) return cannot_listen(config, gai_strerror(failed));
  return Addresses(first, &freeaddrinfo);
}

// On every address that the name stands for, and the same port of each.
Result<std::vector<Descriptor>> listeners_on(const GateConfig& config, const std::string& host) {
  const Addresses addresses = TRY(addresses_of(config, host));
  std::vector<Descriptor> listeners;
  std::uint16_t port = config.port;
  int error = EADDRNOTAVAIL;
  for (const addrinfo* where = addresses.get(); where != nullptr; where = where->ai_next) {
    Descriptor bound = bound_to(*where, port);
    if (bound.get() < 0) {
      error = errno;
      continue;
    }
    port = port_of(bound.get());
    listeners.push_back(std::move(bound));
  }
  if (listeners.empty()) return cannot_listen(config, std::strerror(error));
  return listeners;
}

// 0.0.0.0 means every address of the machine, as it does to gRPC.
Result<std::vector<Descriptor>> listeners_on(const GateConfig& config) {
  if (config.host != "0.0.0.0") return listeners_on(config, config.host);
  auto both = listeners_on(config, "::");
  return both ? std::move(both) : listeners_on(config, config.host);
}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

// The thread of the gate accepts, listens to strangers and looks after everybody; gRPC's threads
// tell whom they have met.
class Gate::Impl {
 public:
  Impl(const GateConfig& config, std::vector<Descriptor> listeners, Descriptor poll,
       Descriptor call)
      : config_(config),
        guests_(config.guests),
        listeners_(std::move(listeners)),
        port_(port_of(listeners_.front().get())),
        poll_(std::move(poll)),
        call_(std::move(call)) {
    watch(EPOLL_CTL_ADD, call_.get(), EPOLLIN, kCall);
    for (const Descriptor& listener : listeners_) {
      watch(EPOLL_CTL_ADD, listener.get(), EPOLLIN, kListener);
    }
  }
  ~Impl() { close(); }

  std::uint16_t port() const { return port_; }
  void prepare(grpc::ServerBuilder& builder,
               const std::shared_ptr<grpc::ServerCredentials>& credentials);
  void open();
  void close();
  void ask(Health done);
  void meet(const std::string& peer, const std::string& name);

 private:
  class Doorbell;
  class DoorbellFactory;

  enum class Stage {
    Silent,     // has said nothing
    Waiting,    // for its handshake
    Handshake,  // or a little after it: gRPC's, but no call has come
    Known,      // gRPC's
  };
  struct Connection {
    int descriptor = -1;  // ours until gRPC has it
    std::string peer;
    Clock::time_point since;
    Stage stage = Stage::Silent;
    bool is_watched = false;
  };
  using Connections = std::map<Guests::Id, Connection>;

  static bool is_ours(const Connection& connection) {
    return connection.stage == Stage::Silent || connection.stage == Stage::Waiting;
  }

  void run();
  int milliseconds_to_wait();
  void attend(std::span<const epoll_event> events);
  void watch(int operation, int descriptor, std::uint32_t events, std::uint64_t about) const;
  void call();
  void hand_on();
  void answer();

  void accept_some();
  bool accept_from(int listener);
  void run_short(int error);
  void admit(Descriptor descriptor, const Peer& peer);
  void listen_to(Guests::Id id);
  void take_in(Guests::Id id);
  void take_in_waiting();
  void turn_out(Guests::Id id);
  void forget(Connections::iterator connection);
  void complain();

  void look_after_all();
  bool is_over(Guests::Id id, Connection& connection, Clock::time_point now);
  void forget_those_who_left();
  static void cut(const Connection& connection);

  const GateConfig config_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;

  std::mutex mutex_;  // of all below
  Guests guests_;
  Connections connections_;
  std::map<std::string, Guests::Id> by_peer_;
  std::set<Guests::Id> waiting_;
  std::vector<Health> asked_;
  bool open_ = false;
  bool closing_ = false;

  // Of the thread.
  std::vector<int> taken_in_;  // and not yet gRPC's
  std::optional<Error> trouble_;
  bool is_listening_ = true;  // else it tries again after this:
  Clock::time_point accept_after_{};
  Clock::time_point next_look_{};
  Clock::time_point next_complaint_{};

  std::vector<Descriptor> listeners_;
  const std::uint16_t port_;
  const Descriptor poll_;
  const Descriptor call_;
  std::thread thread_;
};

// --- Whom gRPC has met.

// Hears of a call. Its peer is known when it begins, but to calls that block only a little later.
class Gate::Impl::Doorbell final : public grpc::experimental::Interceptor {
 public:
  Doorbell(Impl& gate, const grpc::ServerContextBase& context) : gate_(gate), context_(context) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE) ||
        methods->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
      gate_.meet(address_of(context_), common_name_of(context_));
    }
    methods->Proceed();
  }

 private:
  Impl& gate_;
  const grpc::ServerContextBase& context_;
};

class Gate::Impl::DoorbellFactory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit DoorbellFactory(Impl& gate) : gate_(gate) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    const grpc::ServerContextBase& context = *call->server_context();
    const std::string peer = address_of(context);
    if (peer.empty()) return new Doorbell(gate_, context);
    gate_.meet(peer, common_name_of(context));
    return nullptr;
  }

 private:
  Impl& gate_;
};

void Gate::Impl::prepare(grpc::ServerBuilder& builder,
                         const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  CHECK(acceptor_ == nullptr, "a gate is that of one server");
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, credentials);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<DoorbellFactory>(*this));
  builder.experimental().SetInterceptorCreators(std::move(factories));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(config_.patience.count()));
}

void Gate::Impl::meet(const std::string& peer, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto id = by_peer_.find(peer);
  if (id == by_peer_.end() || connections_.at(id->second).stage == Stage::Known) return;
  const Guests::Id met = id->second;
  if (!guests_.recognise(met, name)) {
    forget_those_who_left();  // it may be one of them
    if (!guests_.recognise(met, name)) return turn_out(met);
  }
  connections_.at(met).stage = Stage::Known;
  if (!waiting_.empty()) call();
}

// --- The thread.

void Gate::Impl::open() {
  thread_ = std::thread([this] { run(); });
  const std::lock_guard lock(mutex_);
  open_ = true;
}

void Gate::Impl::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    open_ = false;
  }
  call();
  if (thread_.joinable()) thread_.join();
  std::vector<Health> asked;
  {
    const std::lock_guard lock(mutex_);
    while (!connections_.empty()) {
      if (is_ours(connections_.begin()->second)) ::close(connections_.begin()->second.descriptor);
      forget(connections_.begin());
    }
    asked.swap(asked_);
  }
  listeners_.clear();
  for (const Health& health : asked) health(Error{Code::Unavailable, "closed"});
}

void Gate::Impl::ask(Health done) {
  {
    const std::lock_guard lock(mutex_);
    if (open_) {
      asked_.push_back(std::move(done));
      return call();
    }
  }
  done(Error{Code::Unavailable, "not open"});
}

void Gate::Impl::watch(int operation, int descriptor, std::uint32_t events,
                       std::uint64_t about) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = about;
  epoll_ctl(poll_.get(), operation, descriptor, &event);
}

void Gate::Impl::call() { eventfd_write(call_.get(), 1); }

// gRPC is called, and who asks is answered, without the lock: both may call back.
void Gate::Impl::run() {
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = epoll_wait(poll_.get(), events.data(), events.size(), milliseconds_to_wait());
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
      attend({events.data(), static_cast<std::size_t>(std::max(count, 0))});
    }
    hand_on();
    answer();
  }
}

// Without strangers there is nothing to look after, and nobody is disturbed.
int Gate::Impl::milliseconds_to_wait() {
  if (accept_after_ != Clock::time_point{}) return static_cast<int>(kPauseWithoutRoom.count());
  const std::lock_guard lock(mutex_);
  return guests_.strangers() == 0 ? -1 : static_cast<int>(kLookEvery.count());
}

void Gate::Impl::attend(std::span<const epoll_event> events) {
  for (const epoll_event& event : events) {
    if (event.data.u64 == kCall) {
      eventfd_t ignored = 0;
      eventfd_read(call_.get(), &ignored);
    } else if (event.data.u64 != kListener) {
      listen_to(event.data.u64);
    }
  }
  if (!asked_.empty()) accept_after_ = {};  // what is told is how it is now
  accept_some();
  if (Clock::now() >= next_look_) look_after_all();
  take_in_waiting();
}

void Gate::Impl::hand_on() {
  for (const int descriptor : std::exchange(taken_in_, {})) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listeners_.front().get();
    parameters.fd = descriptor;
    acceptor_->HandleNewConnection(&parameters);
  }
}

void Gate::Impl::answer() {
  std::vector<Health> asked;
  {
    const std::lock_guard lock(mutex_);
    asked.swap(asked_);
  }
  for (const Health& health : asked) health(trouble_);
}

// --- Coming in.

void Gate::Impl::accept_some() {
  if (Clock::now() < accept_after_) return;
  accept_after_ = {};
  for (const Descriptor& listener : listeners_) {
    for (int i = 0; i < kAcceptedAtOnce && accept_from(listener.get()); ++i) continue;
  }
  const bool has_room = accept_after_ == Clock::time_point{};
  if (std::exchange(is_listening_, has_room) == has_room) return;
  for (const Descriptor& listener : listeners_) {
    watch(EPOLL_CTL_MOD, listener.get(), has_room ? std::uint32_t{EPOLLIN} : 0U, kListener);
  }
}

// Whether there may be more.
bool Gate::Impl::accept_from(int listener) {
  Descriptor accepted(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const int error = errno;
  if (accepted.get() < 0) {
    if (is_shortage(error)) run_short(error);
    if (error == EAGAIN) trouble_.reset();
    return error == EINTR || error == ECONNABORTED;
  }
  trouble_.reset();
  if (const auto peer = peer_of(accepted.get())) admit(std::move(accepted), *peer);
  return true;
}

// Whatever has used up the machine's descriptors, a stranger who idles can spare one.
void Gate::Impl::run_short(int error) {
  trouble_ = Error{Code::Exhausted, std::strerror(error)};
  accept_after_ = Clock::now() + kPauseWithoutRoom;
  const auto idle =
      std::ranges::find_if(connections_, [](const auto& entry) { return is_ours(entry.second); });
  if (idle != connections_.end()) turn_out(idle->first);
}

void Gate::Impl::admit(Descriptor descriptor, const Peer& peer) {
  if (guests_.is_full()) forget_those_who_left();
  if (guests_.strangers() == 0) next_look_ = Clock::now() + kLookEvery;
  // The same peer again: the one before has left, and its number may be this one's now.
  if (const auto before = by_peer_.find(peer.text); before != by_peer_.end()) {
    const auto left = connections_.find(before->second);
    if (is_ours(left->second)) ::close(left->second.descriptor);
    forget(left);
  }
  const Guests::Arrival arrival = guests_.arrive(peer.address);
  by_peer_[peer.text] = arrival.id;
  connections_.emplace(
      arrival.id,
      Connection{.descriptor = descriptor.release(), .peer = peer.text, .since = Clock::now()});
  if (arrival.makes_room) {
    turn_out(*arrival.makes_room);
    complain();
  }
  listen_to(arrival.id);
}

// Most have said something by the time that they are accepted.
void Gate::Impl::listen_to(Guests::Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.stage != Stage::Silent) return;
  Connection& connection = found->second;
  char first = 0;
  const ssize_t count = recv(connection.descriptor, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count > 0) {
    connection.stage = Stage::Waiting;
    waiting_.insert(id);
    take_in(id);
  } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    const bool was_watched = std::exchange(connection.is_watched, true);
    watch(was_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, connection.descriptor,
          EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, id);
  } else {
    turn_out(id);
  }
}

// From here on it is gRPC's.
void Gate::Impl::take_in(Guests::Id id) {
  if (!guests_.engage(id)) return;
  waiting_.erase(id);
  Connection& connection = connections_.at(id);
  if (connection.is_watched) watch(EPOLL_CTL_DEL, connection.descriptor, 0, id);
  connection.stage = Stage::Handshake;
  connection.since = Clock::now();
  taken_in_.push_back(connection.descriptor);
}

// Who came last goes first: those who came long before may have given up.
void Gate::Impl::take_in_waiting() {
  const std::vector<Guests::Id> last_first(waiting_.rbegin(), waiting_.rend());
  for (const Guests::Id id : last_first) take_in(id);
}

void Gate::Impl::turn_out(Guests::Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  is_ours(found->second) ? void(::close(found->second.descriptor)) : cut(found->second);
  forget(found);
}

void Gate::Impl::forget(Connections::iterator connection) {
  by_peer_.erase(connection->second.peer);
  waiting_.erase(connection->first);
  guests_.leave(connection->first);
  connections_.erase(connection);
}

void Gate::Impl::complain() {
  const auto now = Clock::now();
  if (now < next_complaint_) return;
  next_complaint_ = now + kComplainEvery;
  shell::log(shell::LogLevel::Warning, "connections to the gRPC port are turned away",
             {{"strangers", std::to_string(guests_.strangers())},
              {"known", std::to_string(guests_.known())}});
}

// --- Staying and leaving.

void Gate::Impl::look_after_all() {
  const auto now = Clock::now();
  next_look_ = now + kLookEvery;
  std::vector<Guests::Id> over;
  for (auto& [id, connection] : connections_) {
    if (is_over(id, connection, now)) over.push_back(id);
  }
  for (const Guests::Id id : over) turn_out(id);
}

// gRPC cuts off who has not shown a certificate in time. So who is there after that, and has made
// no call, is known, if only to gRPC.
bool Gate::Impl::is_over(Guests::Id id, Connection& connection, Clock::time_point now) {
  const auto age = now - connection.since;
  if (is_ours(connection)) return age > config_.patience;
  if (!is_connected_to(connection.descriptor, connection.peer)) return true;
  if (connection.stage == Stage::Known) return false;
  if (!waiting_.empty() && age > config_.hurry) return true;
  if (age <= config_.patience + 2 * kLookEvery) return false;
  if (!guests_.recognise(id, "")) return true;
  connection.stage = Stage::Known;
  return false;
}

void Gate::Impl::forget_those_who_left() {
  std::vector<Guests::Id> left;
  for (const auto& [id, connection] : connections_) {
    const bool is_there =
        is_ours(connection) || is_connected_to(connection.descriptor, connection.peer);
    if (!is_there) left.push_back(id);
  }
  for (const Guests::Id id : left) turn_out(id);
}

// gRPC may close the descriptor at any moment, and its number may become another's: ours of it is
// what we look at.
void Gate::Impl::cut(const Connection& connection) {
  const Descriptor own(fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0));
  if (is_connected_to(own.get(), connection.peer)) shutdown(own.get(), SHUT_RDWR);
}

Gate::Gate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gate::~Gate() = default;

Result<std::unique_ptr<Gate>> Gate::listen(const GateConfig& config) {
  auto listeners = TRY(listeners_on(config));
  Descriptor poll(epoll_create1(EPOLL_CLOEXEC));
  Descriptor call(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (poll.get() < 0 || call.get() < 0) return cannot_listen(config, std::strerror(errno));
  return std::unique_ptr<Gate>(new Gate(
      std::make_unique<Impl>(config, std::move(listeners), std::move(poll), std::move(call))));
}

std::uint16_t Gate::port() const { return impl_->port(); }
void Gate::prepare(grpc::ServerBuilder& builder,
                   const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  impl_->prepare(builder, credentials);
}
void Gate::open() { impl_->open(); }
void Gate::close() { impl_->close(); }
void Gate::ask(Health done) { impl_->ask(std::move(done)); }

}  // namespace berth::link
