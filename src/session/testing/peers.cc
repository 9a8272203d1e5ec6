#include "session/testing/peers.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"

namespace berth::session::testing {
namespace {

constexpr std::chrono::seconds kPatience{20};

void give_up_after_a_while(int fd) {
  const timeval patience{kPatience.count(), 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

}  // namespace

void Told::add(std::string what) {
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(what));
  }
  changed_.notify_all();
}

std::vector<std::string> Told::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

bool Told::has(const std::string& what) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience,
                           [&] { return std::find(all_.begin(), all_.end(), what) != all_.end(); });
}

std::size_t Told::count(const std::string& what) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count(all_.begin(), all_.end(), what));
}

bool becomes(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

Stream::Stream(Fd fd) : fd_(std::move(fd)) { give_up_after_a_while(fd_.get()); }

Stream Stream::connect(const Endpoint& to) {
  const auto address = SocketAddress::of(to);
  CHECK(address.has_value(), "an address");
  Fd fd(::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), address->get(), address->size()) != 0) return {};
  return Stream(std::move(fd));
}

Stream Stream::connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  return Stream(std::move(fd));
}

bool Stream::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string Stream::receive(std::size_t size) const {
  std::string bytes(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const auto more = ::recv(fd_.get(), bytes.data() + got, size - got, 0);
    CHECK(more >= 0 || errno != EAGAIN, "something comes, or it ends");
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

std::string Stream::receive_line() {
  std::array<char, 64 << 10> chunk;
  std::size_t end = 0;
  while ((end = rest_.find('\n')) == std::string::npos) {
    const auto more = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    CHECK(more >= 0 || errno != EAGAIN, "something comes, or it ends");
    if (more <= 0) return "";
    rest_.append(chunk.data(), static_cast<std::size_t>(more));
  }
  std::string line = rest_.substr(0, end);
  rest_.erase(0, end + 1);
  return line;
}

Port::Port(int type, std::uint16_t number, const std::string& address)
    : address_(address), fd_(::socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  if (type == SOCK_STREAM) ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  give_up_after_a_while(fd_.get());
  const auto at = SocketAddress::of({address, number});
  if (::bind(fd_.get(), at->get(), at->size()) != 0 ||
      (type == SOCK_STREAM && ::listen(fd_.get(), 1024) != 0)) {
    fd_ = Fd();
  }
}

Endpoint Port::endpoint() const {
  SocketAddress at;
  ::getsockname(fd_.get(), at.room(), at.room_size());
  return {address_, ntohs(reinterpret_cast<const sockaddr_in*>(at.get())->sin_port)};
}

Stream Port::accept() const {
  Fd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  CHECK(fd.is_open(), "somebody comes");
  return Stream(std::move(fd));
}

Port::Datagram Port::receive() const {
  Datagram datagram;
  datagram.bytes.resize(64 << 10);
  const auto size = ::recvfrom(fd_.get(), datagram.bytes.data(), datagram.bytes.size(), 0,
                               datagram.from.room(), datagram.from.room_size());
  CHECK(size >= 0, "a datagram comes");
  datagram.bytes.resize(static_cast<std::size_t>(size));
  return datagram;
}

void Port::send(std::string_view bytes, const SocketAddress& to) const {
  ::sendto(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL, to.get(), to.size());
}

void Port::send(std::string_view bytes, const Endpoint& to) const {
  send(bytes, *SocketAddress::of(to));
}

std::uint16_t free_port() {
  static std::uint16_t next = static_cast<std::uint16_t>(20'000 + ::getpid() % 10'000);
  while (true) {
    next = static_cast<std::uint16_t>(next < 30'000 ? next + 1 : 20'000);
    if (Port(SOCK_STREAM, next).is_open() && Port(SOCK_DGRAM, next).is_open()) return next;
  }
}

}  // namespace berth::session::testing
