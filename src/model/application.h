#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

// What offers sessions: an item that is kept running in a pool of instances, ready for whoever
// opens one.
namespace berth::model {

// Where applications and sessions have their names.
struct Namespace {
  static constexpr char kDefault[] = "default";  // is always there

  std::string name;

  friend bool operator==(const Namespace&, const Namespace&) = default;
};

// "games/echo".
struct ApplicationKey {
  std::string ns;
  std::string name;

  friend bool operator==(const ApplicationKey&, const ApplicationKey&) = default;
  friend auto operator<=>(const ApplicationKey&, const ApplicationKey&) = default;
};

std::string to_string(const ApplicationKey& key);

// At least so many, and at most.
struct Band {
  std::uint32_t low = 0;
  std::uint32_t high = 0;

  friend bool operator==(const Band&, const Band&) = default;
};

// How many instances an application has.
struct ScalingPolicy {
  std::uint32_t minimum = 0;
  std::uint32_t maximum = 1;
  // Being created at once, and being removed at once. nullopt: unlimited.
  std::optional<std::uint32_t> burst = 2;
  // Of those that no session needs; at most one of the two.
  std::optional<Band> idle;
  std::optional<Band> idle_percent;  // of all instances
  std::optional<Band> standby;       // paused behind them
  Duration cooldown = 30s;

  friend bool operator==(const ScalingPolicy&, const ScalingPolicy&) = default;
};

struct SessionOptions {
  std::uint32_t per_instance = 1;
  bool service = false;       // its instances talk to the session service of their node
  std::optional<bool> reuse;  // after a session; nullopt: if they use the session service
  bool kill_when_closed = false;
  Duration open_timeout = 10s;
  Duration close_grace = 30s;
  Duration claim = 60s;         // 0: nobody has to claim
  std::optional<Duration> ttl;  // since it is available
  std::optional<Duration> idle_timeout;
  bool reopen = false;
  Duration keep_finished = 5min;
  Duration health_period = 10s;

  friend bool operator==(const SessionOptions&, const SessionOptions&) = default;
};

struct Application {
  std::string name;
  std::string ns = Namespace::kDefault;
  ItemId item;
  std::string version;  // empty: the item's only version
  std::int64_t priority = 0;
  std::vector<std::string> labels;
  std::vector<NodeId> nodes;  // empty: any node
  ScalingPolicy scaling;
  SessionOptions sessions;

  friend bool operator==(const Application&, const Application&) = default;
};

inline ApplicationKey key_of(const Application& application) {
  return {application.ns, application.name};
}

// Whether an instance serves others after a session.
inline bool is_reusable(const SessionOptions& options) {
  return options.reuse.value_or(options.service);
}

// --- Pool instances: "@games/echo/7" -----------------------------------------------------------

inline constexpr char kPoolMark = '@';

InstanceKey pool_instance(const ApplicationKey& application, std::uint32_t number);
inline bool is_pool_instance(const InstanceKey& key) {
  return !key.item.empty() && key.item.value().front() == kPoolMark;
}
// REQUIRES: is_pool_instance(key).
ApplicationKey application_of(const InstanceKey& key);

}  // namespace berth::model
