#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "agentd/config.h"
#include "agentd/ordered_runtime.h"
#include "agentd/runtime_set.h"
#include "model/node.h"

namespace berth::agentd {

// What the node says of itself, but for its runtimes: as configured, else what the machine has.
Result<model::NodeInfo> describe_node(const Config& config);

// Asks the runtimes whether they work, each on a thread and a schedule of its own, so that one that
// hangs is in nobody's way, and tells the node whenever it has changed. When and what is decided by
// Probing.
class NodeWatch {
 public:
  NodeWatch(model::NodeInfo node, const std::vector<RuntimeSet::Offered>& offered, Tell tell,
            std::function<std::optional<model::Ipv4>()> address = {});
  // Waits a moment for what is under way. What hangs is left behind; it tells nothing any more.
  ~NodeWatch();

  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;

  // The runtimes from now on. Does not block.
  void offer(const std::vector<RuntimeSet::Offered>& offered);

 private:
  struct Shared;
  struct Asker;

  void watch();

  const Tell tell_;
  const std::function<std::optional<model::Ipv4>()> address_;  // none: it stays as it is
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace berth::agentd
