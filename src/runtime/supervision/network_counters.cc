#include "runtime/supervision/network_counters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::size_t kSentColumn = 8;  // after the name; the first is what was received

std::int64_t take_number(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  std::int64_t number = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), number);
  line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()));
  return number;
}

std::map<std::string, NetworkCounters> read_counters(const std::string& path) {
  const auto text = shim::read_file(AT_FDCWD, path.c_str(), kFileBytesMax);
  return text ? parse_network_counters(*text) : std::map<std::string, NetworkCounters>();
}

bool is_hardware(const std::string& interface) {
  return ::access(fmt::format("/sys/class/net/{}/device", interface).c_str(), F_OK) == 0;
}

std::string network_of(const std::string& process) {
  std::array<char, 64> name{};
  const std::string path = fmt::format("/proc/{}/ns/net", process);
  const ssize_t length = ::readlink(path.c_str(), name.data(), name.size());
  return {name.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

template <class Counts>
NetworkCounters sum(const std::map<std::string, NetworkCounters>& all, Counts counts) {
  NetworkCounters total;
  for (const auto& [interface, counters] : all) {
    if (interface == "lo" || !counts(interface)) continue;
    total.received += counters.received;
    total.sent += counters.sent;
  }
  return total;
}

}  // namespace

std::map<std::string, NetworkCounters> parse_network_counters(std::string_view text) {
  std::map<std::string, NetworkCounters> all;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;  // the headings
    std::string_view name = line.substr(0, colon);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    line.remove_prefix(colon + 1);
    NetworkCounters& counters = all[std::string(name)];
    counters.received = take_number(line);
    for (std::size_t column = 1; column < kSentColumn; ++column) take_number(line);
    counters.sent = take_number(line);
  }
  return all;
}

NetworkCounters count_machine_network() {
  const auto all = read_counters("/proc/self/net/dev");
  const bool has_hardware = std::any_of(all.begin(), all.end(),
                                        [](const auto& entry) { return is_hardware(entry.first); });
  return sum(all,
             [&](const std::string& interface) { return !has_hardware || is_hardware(interface); });
}

std::optional<NetworkCounters> count_network_of(pid_t process, std::string_view interface) {
  if (process <= 0) return std::nullopt;
  const std::string theirs = network_of(std::to_string(process));
  if (theirs.empty() || theirs == network_of("self")) return std::nullopt;
  const auto all = read_counters(fmt::format("/proc/{}/net/dev", process));
  return sum(all, [&](const std::string& one) { return interface.empty() || one == interface; });
}

}  // namespace berth::runtime
