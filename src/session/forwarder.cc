#include "session/forwarder.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "session/listening.h"
#include "session/tcp_relay.h"
#include "session/udp_relay.h"
#include "shell/clock.h"

namespace berth::session {
namespace {

constexpr int kAcceptsPerEvent = 16;
constexpr Duration kAcceptPause = 100ms;

void set_number(int fd, int option, int value) {
  ::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value);
}

// Bytes go on as they come, and who has vanished is found out in two minutes.
void tune_connection(int fd) {
  turn_socket_on(fd, IPPROTO_TCP, TCP_NODELAY);
  turn_socket_on(fd, SOL_SOCKET, SO_KEEPALIVE);
  set_number(fd, TCP_KEEPIDLE, 60);
  set_number(fd, TCP_KEEPINTVL, 15);
  set_number(fd, TCP_KEEPCNT, 4);
}

}  // namespace

// One forward with all its connections. Belongs to the poller.
class Forwarder::OpenForward {
 public:
  OpenForward(Forwarder& forwarder, Forward forward)
      : forwarder_(forwarder), forward_(std::move(forward)) {}
  ~OpenForward() { forwarder_.connections_ -= relays_.size(); }

  Result<void> start() {
    bool is_watched = true;
    if (forward_.udp) {
      auto socket = TRY(listen_at(forward_.listen, SOCK_DGRAM));
      flows_.emplace(*forwarder_.poller_, std::move(socket), traffic_, flow_config());
      is_watched = flows_->start();
    }
    if (forward_.tcp) {
      auto socket = TRY(listen_at(forward_.listen, SOCK_STREAM));
      listener_.emplace(*forwarder_.poller_, std::move(socket), [this](auto) { accept_some(); });
      is_watched = listener_->want(EPOLLIN) && is_watched;
    }
    if (!is_watched) return Error{Code::Exhausted, "the kernel watches no more sockets"};
    return {};
  }

  // Who waits to be accepted is turned away with the socket.
  void refuse_new() {
    listener_.reset();
    accept_again_.reset();
    if (flows_) flows_->refuse_new();
  }

  const Forward& forward() const { return forward_; }
  const Traffic& traffic() const { return traffic_; }

  std::optional<Time> tend(Time now) {
    std::optional<Time> next = flows_ ? flows_->tend(now) : std::nullopt;
    if (accept_again_ && *accept_again_ <= now) accept_again();
    take_earlier(next, accept_again_);
    for (auto relay = relays_.begin(); relay != relays_.end();) {
      const TcpRelay& each = *(relay++)->second;
      if (each.connect_by() && *each.connect_by() <= now) {
        drop(each);
      } else {
        take_earlier(next, each.connect_by());
      }
    }
    return next;
  }

  // What has not been told yet.
  bool take_used() { return traffic_.connections > 0 && !std::exchange(used_told_, true); }
  std::optional<std::uint32_t> take_open() {
    if (std::exchange(open_told_, traffic_.open) == traffic_.open) return std::nullopt;
    return traffic_.open;
  }

 private:
  UdpRelay::Config flow_config() {
    return {.flows_max = forwarder_.config_.connections_per_forward,
            .quiet_max = forwarder_.config_.flow_quiet_max,
            .connect =
                [this] { return forwarder_.connect_to(*forward_.udp, forward_.reach, SOCK_DGRAM); },
            .changed =
                [this] {
                  changed();
                  call_within(forwarder_.config_.flow_quiet_max);
                }};
  }

  void changed() { forwarder_.changed_.insert(forward_.id); }
  void call_within(Duration wait) {
    forwarder_.alarms_.set_earlier(forward_.id, shell::now() + wait);
  }

  void accept_some() {
    for (int i = 0; i < kAcceptsPerEvent; ++i) {
      Fd client(::accept4(listener_->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (client.is_open()) {
        take_in(std::move(client));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return pause_accepting();
      } else if (errno != ECONNABORTED && errno != EINTR) {
        return;
      }
    }
  }

  // Who waits to be accepted would be told over and over while there is no descriptor left.
  void pause_accepting() {
    if (!listener_->want(0)) return;
    accept_again_ = shell::now() + kAcceptPause;
    call_within(kAcceptPause);
  }
  void accept_again() {
    accept_again_.reset();
    if (!listener_->want(EPOLLIN)) pause_accepting();
  }

  // One too many is turned away by closing it.
  void take_in(Fd client) {
    ++traffic_.connections;
    changed();
    if (relays_.size() >= forwarder_.config_.connections_per_forward) return;
    if (forwarder_.connections_ >= forwarder_.config_.connections_max) return;
    Fd target = forwarder_.connect_to(*forward_.tcp, forward_.reach, SOCK_STREAM);
    if (!target.is_open()) return;
    tune_connection(client.get());
    tune_connection(target.get());
    add_relay({std::move(client), std::move(target)});
  }

  void add_relay(TcpRelay::Ends ends) {
    auto made = std::make_unique<TcpRelay>(*forwarder_.poller_, std::move(ends), traffic_,
                                           [this](const TcpRelay& over) { drop(over); });
    TcpRelay& relay = *made;
    relays_.emplace(&relay, std::move(made));
    ++forwarder_.connections_;
    ++traffic_.open;
    const Duration timeout = forwarder_.config_.connect_timeout;
    if (!relay.start(shell::now() + timeout)) return drop(relay);
    call_within(timeout);
  }

  void drop(const TcpRelay& relay) {
    relays_.erase(&relay);
    --forwarder_.connections_;
    --traffic_.open;
    changed();
  }

  Forwarder& forwarder_;
  const Forward forward_;
  Traffic traffic_;
  std::optional<Watch> listener_;
  std::optional<UdpRelay> flows_;
  std::unordered_map<const TcpRelay*, std::unique_ptr<TcpRelay>> relays_;
  std::optional<Time> accept_again_;
  bool used_told_ = false;
  std::uint32_t open_told_ = 0;
};

Result<std::unique_ptr<Forwarder>> Forwarder::open(Config config, GatewayCallbacks callbacks) {
  auto poller = TRY(Poller::open());
  return std::unique_ptr<Forwarder>(
      new Forwarder(std::move(config), std::move(callbacks), std::move(poller)));
}

Forwarder::Forwarder(Config config, GatewayCallbacks callbacks, std::unique_ptr<Poller> poller)
    : config_(std::move(config)), callbacks_(std::move(callbacks)), poller_(std::move(poller)) {
  poller_->start(
      {.tend = [this](Time now) { return tend(now); }, .deliver = [this] { deliver(); }});
}

Forwarder::~Forwarder() {
  poller_->stop();
  forwards_.clear();
}

Result<void> Forwarder::open(const Forward& forward) {
  TRY(check_forward(forward));
  const auto lock = poller_->enter();
  if (const auto known = forwards_.find(forward.id); known != forwards_.end()) {
    if (known->second->forward() == forward) return {};
    return Error{Code::Conflict, fmt::format("forward {} is open already", forward.id)};
  }
  auto made = std::make_unique<OpenForward>(*this, forward);
  TRY(made->start());
  forwards_.emplace(forward.id, std::move(made));
  return {};
}

void Forwarder::refuse_new(const std::string& id) {
  const auto lock = poller_->enter();
  const auto found = forwards_.find(id);
  if (found != forwards_.end()) found->second->refuse_new();
}

void Forwarder::close(const std::string& id) {
  const auto lock = poller_->enter();
  forwards_.erase(id);
  alarms_.set(id, std::nullopt);
  changed_.erase(id);
}

std::optional<Traffic> Forwarder::traffic(const std::string& id) {
  const auto lock = poller_->enter();
  const auto found = forwards_.find(id);
  if (found == forwards_.end()) return std::nullopt;
  return found->second->traffic();
}

Fd Forwarder::connect_to(const Endpoint& target, Reach reach, int type) const {
  const auto address = SocketAddress::of(target);
  const int kind = type | SOCK_NONBLOCK | SOCK_CLOEXEC;
  Fd fd(reach == Reach::Network && config_.network_socket
            ? config_.network_socket(address->family(), kind)
            : ::socket(address->family(), kind, 0));
  if (!fd.is_open()) return fd;
  const bool ok = ::connect(fd.get(), address->get(), address->size()) == 0;
  return ok || errno == EINPROGRESS ? std::move(fd) : Fd();
}

std::optional<Time> Forwarder::tend(Time now) {
  for (const std::string& id : alarms_.take_due(now)) {
    alarms_.set(id, forwards_.at(id)->tend(now));
  }
  return alarms_.next();
}

void Forwarder::deliver() {
  struct News {
    std::string id;
    bool used = false;
    std::optional<std::uint32_t> open;
  };
  std::vector<News> all;
  {
    const auto lock = poller_->enter();
    for (const std::string& id : std::exchange(changed_, {})) {
      OpenForward& forward = *forwards_.at(id);
      all.push_back({id, forward.take_used(), forward.take_open()});
    }
  }
  for (const News& news : all) {
    if (news.used) callbacks_.used(news.id);
    if (news.open) callbacks_.connections(news.id, *news.open);
  }
}

}  // namespace berth::session
