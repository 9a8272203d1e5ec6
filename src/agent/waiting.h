#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/ids.h"

namespace berth::agent {

// Which instances would start, or fetch what they need, if their runtime let them, so that a change
// of a runtime finds them without looking at all.
class Waiting {
 public:
  void wait(const model::InstanceKey& key, const model::RuntimeId& runtime) {
    runtimes_of_[key].insert(runtime);
    queues_[runtime].insert(key);
  }

  // For nothing any longer.
  void forget(const model::InstanceKey& key) {
    const auto known = runtimes_of_.find(key);
    if (known == runtimes_of_.end()) return;
    for (const model::RuntimeId& runtime : known->second) {
      const auto queue = queues_.find(runtime);
      queue->second.erase(key);
      if (queue->second.empty()) queues_.erase(queue);
    }
    runtimes_of_.erase(known);
  }

  std::set<model::InstanceKey> for_runtime(const model::RuntimeId& runtime) const {
    const auto found = queues_.find(runtime);
    return found == queues_.end() ? std::set<model::InstanceKey>{} : found->second;
  }

  using Runtimes = std::set<model::RuntimeId>;
  const std::map<model::InstanceKey, Runtimes>& all() const { return runtimes_of_; }

 private:
  std::map<model::InstanceKey, Runtimes> runtimes_of_;
  std::map<model::RuntimeId, std::set<model::InstanceKey>> queues_;
};

}  // namespace berth::agent
