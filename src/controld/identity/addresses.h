#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

// Under which names and addresses others reach this machine.
namespace berth::controld {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
// "0.0.0.0:7443", "[::]:7443".
Result<HostPort> parse_host_port(const std::string& text);
std::string to_string(const HostPort& address);  // with brackets around IPv6

// For a server's certificate: what was configured, this machine's name and all its addresses.
std::vector<std::string> certificate_hosts(const std::vector<std::string>& advertised);

// What others are told: the first that is configured, else the address that is listened on, else
// the first address of the machine that is not for itself only.
std::string advertised_host(const std::vector<std::string>& advertised,
                            const std::string& listening_on);

}  // namespace berth::controld
