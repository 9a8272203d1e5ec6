#include "session/udp_relay.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <iterator>

#include "base/check.h"
#include "shell/clock.h"

namespace berth::session {
namespace {

constexpr int kDatagramsPerEvent = 32;  // others have their turn, too

// The largest that there is.
using Datagram = std::array<char, 64 << 10>;
Datagram& datagram_room() {
  static thread_local Datagram room;
  return room;
}

}  // namespace

UdpRelay::UdpRelay(Poller& poller, Fd socket, Traffic& traffic, Config config)
    : poller_(poller),
      socket_(poller, std::move(socket), [this](auto) { hear_clients(); }),
      traffic_(traffic),
      config_(std::move(config)) {}

bool UdpRelay::start() { return socket_.want(EPOLLIN); }

std::optional<Time> UdpRelay::tend(Time now) {
  while (!flows_.empty() && flows_.front().last + config_.quiet_max <= now) end_quietest();
  if (flows_.empty()) return std::nullopt;
  return flows_.front().last + config_.quiet_max;
}

void UdpRelay::hear_clients() {
  Datagram& room = datagram_room();
  for (int i = 0; i < kDatagramsPerEvent; ++i) {
    Path client;
    const auto size = receive_datagram(socket_.fd(), room.data(), room.size(), client);
    if (!size) return;
    pass_on(client, room.data(), *size);
  }
}

void UdpRelay::pass_on(const Path& client, const char* bytes, std::size_t size) {
  Flow* flow = flow_of(client);
  if (flow == nullptr) return;
  touch(*flow);
  flow->client.ours = client.ours;
  traffic_.bytes_in += size;
  ::send(flow->target.fd(), bytes, size, MSG_NOSIGNAL);
}

UdpRelay::Flow* UdpRelay::flow_of(const Path& client) {
  const auto known = by_client_.find(client.peer);
  return known != by_client_.end() ? known->second : make_flow(client);
}

UdpRelay::Flow* UdpRelay::make_flow(const Path& client) {
  if (refuses_) return nullptr;
  if (flows_.size() >= config_.flows_max) end_quietest();
  Fd socket = config_.connect();
  if (!socket.is_open()) return nullptr;
  Flow& flow = flows_.emplace_back(*this, std::move(socket), client);
  flow.self = std::prev(flows_.end());
  if (!flow.target.want(EPOLLIN)) {
    flows_.pop_back();
    return nullptr;
  }
  by_client_.emplace(client.peer, &flow);
  ++traffic_.connections;
  ++traffic_.open;
  config_.changed();
  return &flow;
}

void UdpRelay::hear_target(Flow& flow) {
  Datagram& room = datagram_room();
  for (int i = 0; i < kDatagramsPerEvent; ++i) {
    // An error is that nobody listens there: it is taken by asking, and the next datagram may do.
    const auto size = ::recv(flow.target.fd(), room.data(), room.size(), 0);
    if (size < 0) return;
    touch(flow);
    traffic_.bytes_out += static_cast<std::uint64_t>(size);
    send_back(socket_.fd(), {room.data(), static_cast<std::size_t>(size)}, flow.client);
  }
}

void UdpRelay::touch(Flow& flow) {
  flow.last = shell::now();
  flows_.splice(flows_.end(), flows_, flow.self);
}

void UdpRelay::end_quietest() {
  CHECK(!flows_.empty(), "there is one");
  by_client_.erase(flows_.front().client.peer);
  flows_.pop_front();
  --traffic_.open;
  config_.changed();
}

}  // namespace berth::session
