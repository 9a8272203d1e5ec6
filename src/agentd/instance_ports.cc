#include "agentd/instance_ports.h"

#include <sys/socket.h>

#include <optional>

#include "session/endpoint.h"
#include "session/fd.h"

namespace berth::agentd {
namespace {

// Below those that sessions have by default, and those that the kernel gives to whoever asks.
constexpr std::uint64_t kFirst = 10'000;
constexpr std::uint64_t kCount = 10'000;
constexpr int kKernelTries = 16;  // of its choices: another protocol may have the number

// The number that a socket got at all addresses; nullopt: somebody has it.
std::optional<std::uint16_t> bind_to(const session::Fd& socket, std::uint16_t port) {
  const auto address = session::SocketAddress::of({"0.0.0.0", port});
  if (::bind(socket.get(), address->get(), address->size()) != 0) return std::nullopt;
  session::SocketAddress bound;
  if (::getsockname(socket.get(), bound.room(), bound.room_size()) != 0) return std::nullopt;
  return ntohs(reinterpret_cast<const sockaddr_in*>(bound.get())->sin_port);
}

// 0: whichever the kernel likes.
std::optional<std::uint16_t> free_for_both(std::uint16_t port) {
  const session::Fd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const session::Fd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto number = bind_to(tcp, port);
  return number ? bind_to(udp, *number) : std::nullopt;
}

}  // namespace

Result<std::vector<std::uint16_t>> InstancePorts::take(const model::InstanceKey& key,
                                                       std::size_t count) {
  std::vector<std::uint16_t> ports;
  while (ports.size() < count) {
    const auto port = find_free();
    if (!port) {
      release(key);
      return port.error();
    }
    keep(key, *port);
    ports.push_back(*port);
  }
  return ports;
}

void InstancePorts::keep(const model::InstanceKey& key, std::uint16_t port) {
  if (taken_.insert(port).second) owned_[key].push_back(port);
}

void InstancePorts::release(const model::InstanceKey& key) {
  const auto owned = owned_.extract(key);
  if (owned.empty()) return;
  for (const std::uint16_t port : owned.mapped()) taken_.erase(port);
}

Result<std::uint16_t> InstancePorts::find_free() {
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + next_++ % kCount);
    if (!taken_.contains(port) && free_for_both(port)) return port;
  }
  for (int i = 0; i < kKernelTries; ++i) {
    const auto port = free_for_both(0);
    if (port && !taken_.contains(*port)) return *port;
  }
  return Error{Code::Exhausted, "no port of this machine is free"};
}

}  // namespace berth::agentd
