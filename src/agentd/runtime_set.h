#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agentd/config.h"
#include "agentd/ordered_runtime.h"

namespace berth::agentd {

// Who works with a runtime keeps it alive, also when it is no longer the node's.
using RuntimeRef = std::shared_ptr<OrderedRuntime>;

// The runtimes of this node, which come and go while others use them. One that is no longer offered
// stays as long as something runs on it: its instances are neither stopped nor lost sight of. Safe
// to use from several threads.
class RuntimeSet {
 public:
  struct Offered {
    RuntimeConfig config;
    RuntimeRef runtime;
  };
  using Make = std::function<RuntimeRef(const RuntimeConfig&)>;
  struct Change {
    std::vector<Offered> offered;      // in the order of their configuration
    std::vector<std::string> refused;  // what could not be done, for people
  };

  // From now on these are offered. Those that are there already are not made again; type and
  // program cannot change while a runtime is there.
  Change offer(const std::vector<RuntimeConfig>& wanted, const Make& make);

  // All that are there, offered or not.
  std::vector<RuntimeRef> all() const;
  RuntimeRef find(const model::RuntimeId& id) const;  // nullptr: there is none

  // Lets go of what is neither offered nor needed.
  void drop_idle();

 private:
  struct Entry {
    RuntimeConfig config;
    RuntimeRef runtime;
    bool is_offered = true;
  };

  Entry* find_entry(const std::string& name);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace berth::agentd
