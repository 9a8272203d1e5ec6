#include "session/tcp_relay.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace berth::session {
namespace {

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// The peer is told that the connection is broken, not that all has been said.
void reset_at_close(int fd) {
  const linger at_once{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

TcpRelay::TcpRelay(Poller& poller, Ends ends, Traffic& traffic, Over over)
    : ends_{End{{poller, std::move(ends.client), [this](auto events) { ready(kClient, events); }}},
            End{{poller, std::move(ends.target), [this](auto events) { ready(kTarget, events); }}}},
      traffic_(traffic),
      over_(std::move(over)) {}

TcpRelay::~TcpRelay() {
  if (is_done()) return;
  for (const End& end : ends_) reset_at_close(end.watch.fd());
}

bool TcpRelay::start(Time connect_by) {
  connect_by_ = connect_by;
  return want();
}

void TcpRelay::ready(Side side, std::uint32_t events) {
  if (advance(side, events) && pass_ends_on() && !is_done() && want()) return;
  const Over over = over_;  // outlives the relay
  over(*this);
}

// Each of these is false if the connection is broken.
bool TcpRelay::advance(Side side, std::uint32_t events) {
  if (connect_by_) return side != kTarget || finish_connecting();
  if ((events & EPOLLERR) != 0) return false;
  if (!ends_[side].unsent.empty() && !flush(side)) return false;
  const bool may_read = !ends_[side].has_ended && ends_[other(side)].unsent.empty();
  return !may_read || (events & (EPOLLIN | EPOLLHUP)) == 0 || pump_from(side);
}

bool TcpRelay::finish_connecting() {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(ends_[kTarget].watch.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    return false;
  }
  connect_by_.reset();
  return error == 0;
}

bool TcpRelay::pump_from(Side side) {
  static thread_local std::array<char, kChunk> chunk;
  const auto size = ::recv(ends_[side].watch.fd(), chunk.data(), chunk.size(), 0);
  if (size < 0) return would_block();
  if (size == 0) {
    ends_[side].has_ended = true;
    return true;
  }
  (side == kClient ? traffic_.bytes_in : traffic_.bytes_out) += static_cast<std::uint64_t>(size);
  return send_to(other(side), chunk.data(), static_cast<std::size_t>(size));
}

bool TcpRelay::send_to(Side side, const char* bytes, std::size_t size) {
  const auto sent = ::send(ends_[side].watch.fd(), bytes, size, MSG_NOSIGNAL);
  if (sent < 0 && !would_block()) return false;
  const auto taken = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  ends_[side].unsent.assign(bytes + taken, size - taken);
  return true;
}

bool TcpRelay::flush(Side side) {
  // Who has taken all gives its memory back.
  const std::string rest = std::exchange(ends_[side].unsent, {});
  return send_to(side, rest.data(), rest.size());
}

bool TcpRelay::pass_ends_on() {
  for (const Side side : {kClient, kTarget}) {
    End& end = ends_[side];
    if (end.was_ended || !ends_[other(side)].has_ended || !end.unsent.empty()) continue;
    if (::shutdown(end.watch.fd(), SHUT_WR) != 0) return false;
    end.was_ended = true;
  }
  return true;
}

bool TcpRelay::want() {
  for (const Side side : {kClient, kTarget}) {
    End& end = ends_[side];
    const bool in = !connect_by_ && !end.has_ended && ends_[other(side)].unsent.empty();
    const bool out = connect_by_ ? side == kTarget : !end.unsent.empty();
    if (!end.watch.want((in ? EPOLLIN : 0u) | (out ? EPOLLOUT : 0u))) return false;
  }
  return true;
}

}  // namespace berth::session
