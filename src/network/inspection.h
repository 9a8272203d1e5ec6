#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "network/links.h"
#include "network/netlink.h"
#include "network/network_namespace.h"

namespace berth::network {

// Looks whether what a router was made of is still there. It only asks the kernel, which costs
// microseconds. Not thread-safe.
class Inspection {
 public:
  static Result<Inspection> open(const NetworkNamespace& router);

  // What should be there.
  struct Made {
    std::vector<std::string> devices = {};
    bool has_rules = false;

    friend bool operator==(const Made&, const Made&) = default;
  };

  // What is missing, for people; "" if nothing is.
  std::string missing(const Made& made);

 private:
  Inspection(Links links, Netlink tables) : links_(std::move(links)), tables_(std::move(tables)) {}

  Result<bool> has_table();

  Links links_;
  Netlink tables_;
};

}  // namespace berth::network
