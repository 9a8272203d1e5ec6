#include "session/app_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "session/protocol.h"
#include "shell/clock.h"

namespace berth::session {

AppConnection::AppConnection(Poller& poller, Fd fd, const Handlers& handlers,
                             std::int64_t bytes_per_second)
    : handlers_(handlers),
      watch_(poller, std::move(fd), [this](auto events) { ready(events); }),
      bytes_per_second_(bytes_per_second),
      credit_(bytes_per_second),
      refilled_(shell::now()) {}

bool AppConnection::send(std::string_view lines) {
  unsent_ += lines;
  return flush() && unsent_.size() <= kUnsentMax && want();
}

void AppConnection::tend(Time now) {
  if (!listen_again_ || now < *listen_again_) return;
  listen_again_.reset();
  if (!take_lines() || !want()) handlers_.over(*this);
}

void AppConnection::ready(std::uint32_t events) {
  if (advance(events) && want()) return;
  handlers_.over(*this);
}

// Each of these is false if the connection is over.
bool AppConnection::advance(std::uint32_t events) {
  if ((events & EPOLLERR) != 0) return false;
  if ((events & EPOLLOUT) != 0) {
    if (!flush()) return false;
    if (unsent_.empty() && !handlers_.sent(*this)) return false;
  }
  if ((events & (EPOLLIN | EPOLLHUP)) == 0) return true;
  return !listen_again_ && receive() && take_lines();
}

bool AppConnection::receive() {
  static thread_local std::array<char, 64 << 10> chunk;
  const auto size = ::recv(watch_.fd(), chunk.data(), chunk.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  received_.append(chunk.data(), static_cast<std::size_t>(size));
  return size > 0;
}

bool AppConnection::take_lines() {
  std::size_t begin = 0;
  while (!listen_again_) {
    const auto end = received_.find('\n', std::max(begin, searched_));
    const auto length = std::min(end, received_.size()) - begin;
    if (length > line_max_) {
      send(error_line("this line is too long"));
      return false;
    }
    if (end == std::string::npos) break;
    pay(length);
    if (!handlers_.line(*this, std::string_view(received_).substr(begin, length))) return false;
    begin = end + 1;
  }
  received_.erase(0, begin);
  searched_ = listen_again_ ? 0 : received_.size();
  if (received_.empty()) std::string().swap(received_);
  return true;
}

void AppConnection::pay(std::size_t bytes) {
  credit_ -= kLineCost + static_cast<std::int64_t>(bytes);
  if (credit_ > 0) return;
  credit_ = bytes_per_second_;
  const Time now = shell::now();
  if (now - refilled_ >= 1s) {
    refilled_ = now;
    return;
  }
  refilled_ += 1s;
  listen_again_ = refilled_;
  handlers_.call_at(refilled_);
}

bool AppConnection::flush() {
  if (unsent_.empty()) return true;
  const auto sent = ::send(watch_.fd(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  unsent_.erase(0, static_cast<std::size_t>(sent));
  if (unsent_.empty()) std::string().swap(unsent_);
  return true;
}

// While it is not listened to, its end is not heard either.
bool AppConnection::want() {
  return watch_.want((listen_again_ ? 0u : EPOLLIN) | (unsent_.empty() ? 0u : EPOLLOUT));
}

}  // namespace berth::session
