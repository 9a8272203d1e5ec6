#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::control {

// Both included. REQUIRES: 1 <= first <= last.
struct PortRange {
  std::uint16_t first = 20000;
  std::uint16_t last = 29999;

  std::size_t size() const { return static_cast<std::size_t>(last - first) + 1; }
  bool contains(std::uint16_t port) const { return first <= port && port <= last; }

  friend bool operator==(const PortRange&, const PortRange&) = default;
};

// A set of ports of a range, as a vector of bits.
class PortBits {
 public:
  PortBits() = default;  // of no range: it has none, and none can be added
  explicit PortBits(PortRange range);

  // From the least to the greatest; nullopt: there is none.
  std::optional<PortRange> span() const;
  bool contains(std::uint16_t port) const;
  // REQUIRES: the port is of the range.
  void insert(std::uint16_t port);
  void erase(std::uint16_t port);
  // Those that are also in the other one.
  void intersect(const PortBits& other);

  // "20000:00000000000000ff...": from which port on, then sixteen digits for each 64 ports, of
  // which the lowest is the last bit. The other way round nullopt if it is no such text.
  std::string text() const;
  static std::optional<PortBits> parse(std::string_view text);

  friend bool operator==(const PortBits&, const PortBits&) = default;

 private:
  static constexpr std::size_t kWordBits = 64;
  std::size_t index_of(std::uint16_t port) const;  // REQUIRES: as insert
  bool covers(std::uint16_t port) const;

  std::uint16_t first_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace berth::control
