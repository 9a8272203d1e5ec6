#include "session/listening.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "session/datagrams.h"

namespace berth::session {
namespace {

constexpr int kBacklog = 1024;

Error cannot_listen(const Endpoint& at, int type) {
  const int error = errno;
  const auto port = fmt::format("{}/{}", to_string(at), type == SOCK_STREAM ? "tcp" : "udp");
  switch (error) {
    case EADDRINUSE: return {Code::Conflict, fmt::format("port {} is taken", port)};
    case EADDRNOTAVAIL:
      return invalid_input(fmt::format("{} is no address of this machine", at.address));
    case EMFILE:
    case ENFILE: return {Code::Exhausted, "too many files are open to forward another port"};
    default:
      return {Code::Unavailable,
              fmt::format("cannot listen at port {}: {}", port, std::strerror(error))};
  }
}

// The sockets differ in who else may have their port.
Result<Fd> socket_for(const Endpoint& endpoint, int type) {
  const auto address = SocketAddress::of(endpoint);
  if (!address) return invalid_input(fmt::format("\"{}\" is not an address", endpoint.address));
  Fd fd(::socket(address->family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return cannot_listen(endpoint, type);
  if (address->family() == AF_INET6) turn_socket_on(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY);
  return fd;
}

bool bind_to(const Fd& fd, const Endpoint& endpoint) {
  const auto address = SocketAddress::of(endpoint);
  return ::bind(fd.get(), address->get(), address->size()) == 0;
}

}  // namespace

void turn_socket_on(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof on);
}

Result<Fd> listen_at(const Endpoint& endpoint, int type) {
  Fd fd = TRY(socket_for(endpoint, type));
  // Connections of who had the port before do not count, listeners do. With UDP it would allow two.
  if (type == SOCK_STREAM) turn_socket_on(fd.get(), SOL_SOCKET, SO_REUSEADDR);
  if (type == SOCK_DGRAM) tell_paths(fd.get(), SocketAddress::of(endpoint)->family());
  if (!bind_to(fd, endpoint) || (type == SOCK_STREAM && ::listen(fd.get(), kBacklog) != 0)) {
    return cannot_listen(endpoint, type);
  }
  return fd;
}

// Connections of who had the port before do not count, as above; only who listens finds out about
// all others. Then it listens no more, and the port stays bound, now to nobody else's use.
Result<Fd> hold_port(const Endpoint& endpoint, int type) {
  if (type == SOCK_STREAM) {
    Fd fd = TRY(listen_at(endpoint, type));
    const int off = 0;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &off, sizeof off);
    ::shutdown(fd.get(), SHUT_RD);
    return fd;
  }
  Fd fd = TRY(socket_for(endpoint, type));
  if (!bind_to(fd, endpoint)) return cannot_listen(endpoint, type);
  return fd;
}

Result<void> check_forward(const Forward& forward) {
  if (!forward.tcp && !forward.udp) return invalid_input("a forward needs a target");
  if (forward.listen.port == 0) return invalid_input("a forward needs a port");
  for (const auto& target : {forward.tcp, forward.udp}) {
    if (target && (!SocketAddress::of(*target) || target->port == 0)) {
      return invalid_input(fmt::format("{} is no target", to_string(*target)));
    }
  }
  return {};
}

}  // namespace berth::session
