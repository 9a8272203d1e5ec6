#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "control/session/pools.h"
#include "model/pool.h"

namespace berth::control {

// What the node of the gateway forwards: of each session whose instance is on another node, from
// the ports that clients know to those that the session has at its instance's node. Its agent is
// told to open it as a session whose instance is elsewhere, and says how that fares.
class GatewayForwards {
 public:
  struct Forward {
    model::InstanceKey instance;
    std::vector<model::SessionPort> ports;   // `internal`: the session's at its instance's node
    std::vector<model::SessionPort> behind;  // those, once the session does not need them any more
    bool is_open = false;
    bool ends = false;  // no session needs it
  };

  void want(const model::SessionRef& ref, const model::InstanceKey& instance,
            std::vector<model::SessionPort> ports);
  // Its ports are held until the gateway has closed it.
  void end(const model::SessionRef& ref);
  // Where it leads to must not become a stranger's before it is closed. False: nothing leads there.
  bool keep_behind(const model::SessionRef& ref, const std::vector<model::SessionPort>& ports);

  const Forward* find(const model::SessionRef& ref) const;
  const std::map<model::SessionRef, Forward>& all() const { return all_; }

  // --- What the gateway says.
  void adopt(const model::SessionRef& ref, Forward forward);
  void opened(const model::SessionRef& ref);
  // It is closed, or never was open. REQUIRES: it is known.
  Forward take(const model::SessionRef& ref);
  // It has these and no others: what else it should have is told again, and what it need not have
  // is closed. Those are returned.
  std::vector<model::SessionRef> listed(const std::set<model::SessionRef>& all);

  // Tells what was not told yet, if the gateway can be told.
  void tell(Pools& pools, const model::NodeId& gateway);

 private:
  std::map<model::SessionRef, Forward> all_;
  std::set<model::SessionRef> untold_;
};

}  // namespace berth::control
