#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

#include "session/endpoint.h"

namespace berth::session {

// Where a datagram came from, and to which of our addresses: a socket may listen at all of them,
// and an answer from another one than was asked is nobody's answer.
struct Path {
  SocketAddress peer;
  std::variant<std::monostate, in_pktinfo, in6_pktinfo> ours;
};

// Has a socket say to which address what comes was sent.
void tell_paths(int fd, int family);

// How many bytes have come; nullopt if there is nothing. Never waits.
std::optional<std::size_t> receive_datagram(int fd, char* room, std::size_t size, Path& path);

// What cannot be sent at once is lost.
void send_back(int fd, std::string_view bytes, const Path& path);

}  // namespace berth::session
