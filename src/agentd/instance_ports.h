#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace berth::agentd {

// Ports of this machine for instances that use its network. A number is free for TCP and for UDP
// when it is given, and never given to two living instances. Used by one thread.
class InstancePorts {
 public:
  // Looked through from there on, round and round: one that was given back rests for long.
  explicit InstancePorts(std::uint64_t first) : next_(first) {}

  // All of them or none.
  Result<std::vector<std::uint16_t>> take(const model::InstanceKey& key, std::size_t count);
  // It has this one from an earlier life of the agent.
  void keep(const model::InstanceKey& key, std::uint16_t port);
  void release(const model::InstanceKey& key);

 private:
  Result<std::uint16_t> find_free();

  std::uint64_t next_;
  std::set<std::uint16_t> taken_;
  std::map<model::InstanceKey, std::vector<std::uint16_t>> owned_;
};

}  // namespace berth::agentd
