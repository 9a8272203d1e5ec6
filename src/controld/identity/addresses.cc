#include "controld/identity/addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <set>

namespace berth::controld {
namespace {

struct Address {
  std::string text;
  bool is_v4 = false;
};

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) {
      inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    }
  }
  return text.data();
}

// Of interfaces that are up and lead somewhere.
std::vector<Address> outside_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<Address> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const bool leads_out =
        (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (entry->ifa_addr == nullptr || !leads_out) continue;
    std::string text = text_of(*entry->ifa_addr);
    if (!text.empty()) addresses.push_back({text, entry->ifa_addr->sa_family == AF_INET});
  }
  return addresses;
}

std::string machine_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

}  // namespace

Result<HostPort> parse_host_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const Error wrong = invalid_input(fmt::format("\"{}\" is no HOST:PORT", text));
  if (colon == std::string::npos || colon == 0) return wrong;
  HostPort parsed{text.substr(0, colon), 0};
  if (parsed.host.starts_with('[') && parsed.host.ends_with(']')) {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  }
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, parsed.port);
  if (error != std::errc{} || stopped != end) return wrong;
  return parsed;
}

std::string to_string(const HostPort& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", address.host, is_v6 ? "]" : "", address.port);
}

std::vector<std::string> certificate_hosts(const std::vector<std::string>& advertised) {
  std::set<std::string> hosts(advertised.begin(), advertised.end());
  hosts.insert({"localhost", "127.0.0.1", "::1"});
  if (const std::string name = machine_name(); !name.empty()) hosts.insert(name);
  for (const Address& address : outside_addresses()) hosts.insert(address.text);
  return {hosts.begin(), hosts.end()};
}

std::string advertised_host(const std::vector<std::string>& advertised,
                            const std::string& listening_on) {
  if (!advertised.empty()) return advertised.front();
  if (listening_on != "0.0.0.0" && listening_on != "::") return listening_on;
  for (const Address& address : outside_addresses()) {
    if (address.is_v4) return address.text;
  }
  return "127.0.0.1";
}

}  // namespace berth::controld
