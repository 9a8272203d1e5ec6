#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/ids.h"
#include "model/network.h"

namespace berth::control {

// How much of the cluster the rooms look at in a step. Everything is the reference: slow, and by
// construction right. Dirty must have exactly the same effects, which tests demand.
enum class Walk { Dirty, Everything };

struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;  // included
};

// The node that forwards for all sessions.
struct SessionGateway {
  model::NodeId node;
  std::string address;
  IdRange ports{20'000, 29'999};
};

struct Config {
  Duration heartbeat = 2s;
  Duration broken_after = 2s;       // a broken stream that is not back: Unreachable
  Duration silent_after = 4s;       // a connected node that says nothing: Unreachable
  Duration node_lost_grace = 60s;   // services that may move are placed elsewhere
  Duration settle_time = 5s;        // after a start: wait for the known agents
  Duration confirm_timeout = 600s;  // instances not confirmed after a start of the controller
  Duration run_timeout = 600s;      // of an apply call
  Duration resend_after = 4s;       // a command that a talking node has not acted on
  Duration usage_window = 60s;      // over which agents average what they measure
  std::size_t rebalances_max = 16;  // calls that wait for their turn
  Duration rollout_timeout = 300s;  // for an instance to become active in a new version
  Duration min_healthy = 2s;  // without a health check: active for so long is proven to be well
  // A component may take as long as its installer may, and its confirmation after that.
  Duration component_rollout_timeout = 4500s;
  Duration go_back_retry = 10s;            // of what came up nowhere and could not go back
  Duration failed_move_retry = 600s;       // where one did not come up it is not sent again before
  std::uint32_t rollout_at_once = 1;       // instances of a request that are updated at a time
  Duration cache_ttl = 30 * 24h;           // what is no longer asked for is kept for so long
  Duration write_down_with_others = 600s;  // remaining times, in a step that writes anyway
  Duration write_down_at_latest = 24h;     // remaining times, in a step of their own
  Duration write_down_drains = 10s;        // their deadlines, in a step that writes anyway
  Duration plausible_absence =
      366 * 24h;  // by the date; after a longer one the date is not believed
  IdRange uids{20'000, 1'999'999};
  IdRange gids{20'000, 59'999};
  IdRange pool_uids{2'000'000, 2'999'999};  // of pool instances: not kept, and none for long
  IdRange session_ports{20'000, 29'999};    // of each node's address
  std::optional<SessionGateway> gateway;    // nullopt: each node forwards for what it runs
  Duration pool_lost_after = 6s;      // its node is silent: sessions and pool instances are lost
  Duration pool_start_timeout = 30s;  // an instance that its agent does not report running
  Duration pool_backoff_max = 300s;   // between instances of an application that do not come up
  model::Subnet networks{{0x0a800000}, 10};  // 10.128.0.0/10, for all owners
  std::uint8_t network_prefix = 20;          // the size of one of them
  std::uint32_t first_vxlan = 4096;
  std::uint64_t instances_max = 1'000'000;  // that can be asked for
  // Instances that are asked for in addition and placed in a step; it takes some 10 us for each.
  std::size_t placed_at_once = 1'000;
  Duration date_of_zero{};  // of the clock, since 1970: for dates that are kept and told to people
  std::uint64_t life = 0;   // drawn for each start: see hold/lives.h
  Walk walk = Walk::Dirty;
};

}  // namespace berth::control
