#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/network.h"
#include "network/netlink.h"
#include "network/network_namespace.h"

namespace berth::session {

// The parts of an element of a set, as the kernel has them: each takes whole words.
class ElementBytes {
 public:
  ElementBytes& address(model::Ipv4 address);
  ElementBytes& protocol(std::uint8_t number);
  ElementBytes& port(std::uint16_t number);
  const std::string& get() const { return bytes_; }

 private:
  std::string bytes_;
};

// Takes the parts apart again. REQUIRES: as many as were put in.
class ElementReader {
 public:
  explicit ElementReader(std::string_view bytes) : bytes_(bytes) {}

  model::Ipv4 address();
  std::uint8_t protocol();
  std::uint16_t port();
  bool is_whole() const { return bytes_.empty() && !is_short_; }

 private:
  std::string_view take();

  std::string_view bytes_;
  bool is_short_ = false;
};

// The sets and maps of one table of nftables (of family ip), in one network namespace. The table
// itself is made by its text; what comes and goes is told to the kernel without a program between.
// Not thread-safe.
class RuleTable {
 public:
  struct Element {
    std::string set;
    std::string key;
    std::string value = {};   // of a map
    std::uint64_t bytes = 0;  // counted, where a set has counters
  };
  struct Changes {
    std::vector<Element> remove;  // REQUIRES: they are there
    std::vector<Element> add;     // the same again is nothing new
  };

  // NotFound is said later, when there is no such table.
  static Result<RuleTable> open(const network::NetworkNamespace& where, std::string name);

  // All or nothing. NotFound: the table is gone, or what is to be removed.
  Result<void> change(const Changes& changes);
  Result<std::vector<Element>> elements(const std::string& set);
  // Of one element. NotFound: there is none.
  Result<std::uint64_t> bytes(const std::string& set, const std::string& key);

 private:
  RuleTable(network::Netlink netlink, std::string name)
      : netlink_(std::move(netlink)), name_(std::move(name)) {}

  network::Message about(std::uint16_t type, std::uint16_t flags, const std::string& set) const;

  network::Netlink netlink_;
  std::string name_;
};

}  // namespace berth::session
