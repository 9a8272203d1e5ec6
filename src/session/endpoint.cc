#include "session/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace berth::session {
namespace {

bool is_version_6(std::string_view address) { return address.find(':') != std::string_view::npos; }

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  if (is_version_6(endpoint.address))
    return fmt::format("[{}]:{}", endpoint.address, endpoint.port);
  return fmt::format("{}:{}", endpoint.address, endpoint.port);
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view address = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool in_brackets = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (in_brackets) address = address.substr(1, address.size() - 2);
  if (in_brackets != is_version_6(address)) return std::nullopt;
  Endpoint endpoint{std::string(address)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (!SocketAddress::of(endpoint)) return std::nullopt;
  return endpoint;
}

std::optional<SocketAddress> SocketAddress::of(const Endpoint& endpoint) {
  SocketAddress made;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, endpoint.address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&made.storage_, &v4, made.size_ = sizeof v4);
  } else if (::inet_pton(AF_INET6, endpoint.address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    std::memcpy(&made.storage_, &v6, made.size_ = sizeof v6);
  } else {
    return std::nullopt;
  }
  return made;
}

}  // namespace berth::session
