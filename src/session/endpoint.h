#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::session {

// Where something listens: an address in figures, of version 4 or 6, and a port.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "10.1.2.3:7000", "[fd00::7]:7000".
std::string to_string(const Endpoint& endpoint);
std::optional<Endpoint> parse_endpoint(std::string_view text);

// The same as the kernel has it.
class SocketAddress {
 public:
  SocketAddress() = default;
  static std::optional<SocketAddress> of(const Endpoint& endpoint);

  int family() const { return storage_.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }

  // For calls that write an address.
  sockaddr* room() { return reinterpret_cast<sockaddr*>(&storage_); }
  socklen_t* room_size() {
    size_ = sizeof storage_;
    return &size_;
  }

  friend bool operator==(const SocketAddress& a, const SocketAddress& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const SocketAddress& a, const SocketAddress& b) {
    return a.bytes() <=> b.bytes();
  }

 private:
  std::string_view bytes() const { return {reinterpret_cast<const char*>(&storage_), size_}; }

  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace berth::session
