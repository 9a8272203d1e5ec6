#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/instance.h"
#include "model/node.h"

namespace berth::agent {

// What an instance of the item holds while it runs.
inline std::set<std::string> taken_by(const model::Item& item) {
  if (item.skip_resource_limits) return {};
  return {item.shared_resources.begin(), item.shared_resources.end()};
}

// Beside that its address: there is but one, whichever network had it before.
inline std::set<std::string> taken_by(const model::InstanceSpec& spec) {
  std::set<std::string> taken = taken_by(spec.item);
  if (spec.network) taken.insert("/" + to_string(spec.network->address));
  return taken;
}

// Who on this node holds which shared resource, and which address. The controller gives them to
// another only when it knows of the end of the one before, but it knows items, not runs: after an
// item was edited the run of its former edition may still hold what the new one does not ask for,
// and an agent whose store was older has started what was over long ago.
class SharedUse {
 public:
  void observe(const model::NodeInfo& node) {
    counts_.clear();
    for (const model::SharedResource& resource : node.shared_resources) {
      counts_[resource.name] = resource.count;
    }
  }

  // What the runs of an instance hold, and what those of them hold that are being stopped. Says
  // whether one that was being stopped has let go of something.
  bool set(const model::InstanceKey& key, std::set<std::string> held,
           std::set<std::string> let_go) {
    const auto before = leaving_.find(key);
    const bool released = before != leaving_.end() && before->second != let_go;
    replace(held_, holders_, key, std::move(held));
    replace(leaving_, leavers_, key, std::move(let_go));
    return released;
  }

  // Whether something that the instance needs is taken as often as it is there, and somebody is
  // about to give it back; or, in doubt, whoever has it: what runs and what an older store wants
  // were never decided together.
  enum class WaitsFor { Leavers, Anybody };
  bool must_wait(const model::InstanceSpec& spec, WaitsFor whom) const {
    for (const std::string& resource : taken_by(spec)) {
      const std::uint32_t count = count_of(resource);
      if (count == kUnlimited) continue;
      if (others(holders_, resource, spec.key) >= count &&
          (whom == WaitsFor::Anybody || others(leavers_, resource, spec.key) > 0)) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::uint32_t kUnlimited = 0;

  std::uint32_t count_of(const std::string& resource) const {
    if (resource.starts_with('/')) return 1;  // an address
    const auto count = counts_.find(resource);
    return count == counts_.end() ? kUnlimited : count->second;
  }

  using ByInstance = std::map<model::InstanceKey, std::set<std::string>>;
  using ByResource = std::map<std::string, std::set<model::InstanceKey>>;

  static void replace(ByInstance& of, ByResource& who, const model::InstanceKey& key,
                      std::set<std::string> resources) {
    if (const auto before = of.find(key); before != of.end()) {
      for (const std::string& resource : before->second) who[resource].erase(key);
      of.erase(before);
    }
    if (resources.empty()) return;
    for (const std::string& resource : resources) who[resource].insert(key);
    of.emplace(key, std::move(resources));
  }

  static std::size_t others(const ByResource& who, const std::string& resource,
                            const model::InstanceKey& key) {
    const auto found = who.find(resource);
    return found == who.end() ? 0 : found->second.size() - found->second.count(key);
  }

  std::map<std::string, std::uint32_t> counts_;
  ByInstance held_;
  ByInstance leaving_;
  ByResource holders_;
  ByResource leavers_;
};

}  // namespace berth::agent
