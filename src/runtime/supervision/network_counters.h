#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace berth::runtime {

struct NetworkCounters {
  std::int64_t received = 0;  // bytes, since the interface is there
  std::int64_t sent = 0;

  friend bool operator==(const NetworkCounters&, const NetworkCounters&) = default;
};

// The text of /proc/net/dev: by the names of the interfaces.
std::map<std::string, NetworkCounters> parse_network_counters(std::string_view text);

// What has come to and gone from this machine: over its hardware, or, where it has none of its own,
// over all interfaces but loopback.
NetworkCounters count_machine_network();

// What has come to and gone from a process that has a network of its own; nullopt: it shares ours.
// Over one interface, or over all but loopback.
std::optional<NetworkCounters> count_network_of(pid_t process, std::string_view interface = {});

}  // namespace berth::runtime
