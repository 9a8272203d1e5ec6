#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "agentd/config.h"
#include "agentd/performer.h"
#include "model/node.h"
#include "shell/periodic.h"

namespace berth::agentd {

// What the node says of itself, but for its runtimes: as configured, else what the machine has.
Result<model::NodeInfo> describe_node(const Config& config);

// Tries the runtimes now and then, each on a thread of its own, so that one that hangs is not in
// the way of the others, and tells the node whenever it has changed. The first time it waits for
// all runtimes, but not longer than one period.
class NodeWatch {
 public:
  NodeWatch(model::NodeInfo node, Runtimes& runtimes, Duration period, Tell tell,
            std::function<std::optional<model::Ipv4>()> address = {});

 private:
  struct Patience {  // of the thread that probes one runtime
    unsigned pause = 0;
    unsigned turns_to_skip = 0;
  };

  void probe(std::size_t number);
  void update(std::size_t number, model::Runtime probed);

  Runtimes& runtimes_;
  const Tell tell_;
  const std::function<std::optional<model::Ipv4>()> address_;  // none: it stays as it is
  std::mutex mutex_;
  model::NodeInfo node_;
  std::set<std::size_t> probed_;
  std::optional<model::NodeInfo> told_;
  std::vector<Patience> patience_;
  std::vector<std::unique_ptr<shell::Periodic>> probes_;  // the last: they use the others
};

}  // namespace berth::agentd
