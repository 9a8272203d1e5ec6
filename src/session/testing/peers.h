#pragma once

#include <sys/socket.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "session/endpoint.h"
#include "session/fd.h"

// The other ends of sockets, for tests. Whoever waits here gives up after a while.
namespace berth::session::testing {

// What callbacks have said, in order.
class Told {
 public:
  void add(std::string what);
  std::vector<std::string> all() const;
  // Whether it was said, or is said soon.
  bool has(const std::string& what) const;
  std::size_t count(const std::string& what) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> all_;
};

// Whether it becomes true soon. For what nobody tells.
bool becomes(const std::function<bool()>& condition);

// One end of a stream.
class Stream {
 public:
  Stream() = default;
  explicit Stream(Fd fd);
  // Not open: it was refused.
  static Stream connect(const Endpoint& to);
  static Stream connect_unix(const std::string& path);

  bool is_open() const { return fd_.is_open(); }
  int fd() const { return fd_.get(); }
  bool send(std::string_view bytes) const;
  void end_sending() const { ::shutdown(fd_.get(), SHUT_WR); }
  // So many, or less if it ends before.
  std::string receive(std::size_t size) const;
  std::string receive_line();  // without its end; "" if there is no more
  bool is_over() const { return receive(1).empty(); }

 private:
  Fd fd_;
  std::string rest_;
};

// A socket of datagrams at 127.0.0.1, or that listens there for connections.
class Port {
 public:
  explicit Port(int type, std::uint16_t number = 0, const std::string& address = "127.0.0.1");

  bool is_open() const { return fd_.is_open(); }
  int fd() const { return fd_.get(); }
  Endpoint endpoint() const;
  Stream accept() const;

  struct Datagram {
    std::string bytes;
    SocketAddress from;
  };
  Datagram receive() const;
  void send(std::string_view bytes, const SocketAddress& to) const;
  void send(std::string_view bytes, const Endpoint& to) const;

 private:
  std::string address_;
  Fd fd_;
};

// A number that neither TCP nor UDP uses now, and outside of what the kernel gives to others.
std::uint16_t free_port();

}  // namespace berth::session::testing
