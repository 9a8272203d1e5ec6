#include "link/testing/valve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::link::testing {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// False: the connection has ended.
bool pass_on(int from, int to) {
  char bytes[64 * 1024];
  const ssize_t size = recv(from, bytes, sizeof bytes, 0);
  return size > 0 && send(to, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
}

}  // namespace

Valve::Valve(int server_port) : server_port_(server_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 1), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

Valve::~Valve() {
  is_over_ = true;
  thread_.join();
  close(listener_);
}

std::string Valve::address() const { return fmt::format("127.0.0.1:{}", port_); }

void Valve::run() {
  const int agent = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(server_port_);
  EXPECT_EQ(connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  bool is_open = true;
  while (!is_over_) {
    pollfd both[2] = {{agent, POLLIN, 0}, {server, POLLIN, 0}};
    const bool passes = is_open && !is_shut_;
    poll(both, passes ? 2 : 0, 10);
    if (passes && both[0].revents != 0) is_open = pass_on(agent, server);
    if (passes && both[1].revents != 0) is_open = pass_on(server, agent) && is_open;
  }
  close(agent);
  close(server);
}

}  // namespace berth::link::testing
