#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/ids.h"

namespace berth::agent {

// Which instances would start if their runtime let them, so that a change of a runtime finds them
// without looking at all. An instance waits for one runtime at most.
class Waiting {
 public:
  void set(const model::InstanceKey& key, const std::optional<model::RuntimeId>& runtime) {
    if (const auto old = runtime_of_.find(key); old != runtime_of_.end()) {
      if (runtime == old->second) return;
      const auto queue = queues_.find(old->second);
      queue->second.erase(key);
      if (queue->second.empty()) queues_.erase(queue);
      runtime_of_.erase(old);
    }
    if (!runtime) return;
    runtime_of_.emplace(key, *runtime);
    queues_[*runtime].insert(key);
  }

  std::set<model::InstanceKey> for_runtime(const model::RuntimeId& runtime) const {
    const auto found = queues_.find(runtime);
    return found == queues_.end() ? std::set<model::InstanceKey>{} : found->second;
  }

  const std::map<model::InstanceKey, model::RuntimeId>& all() const { return runtime_of_; }

 private:
  std::map<model::InstanceKey, model::RuntimeId> runtime_of_;
  std::map<model::RuntimeId, std::set<model::InstanceKey>> queues_;
};

}  // namespace berth::agent
