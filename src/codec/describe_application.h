#pragma once

#include "codec/describe.h"

// Namespaces, and applications in them.
namespace berth::codec {

inline constexpr Range kPoolSize{0, 1'000'000};
inline constexpr Range kAtLeastOne{1, 1'000'000};

template <class V, Is<model::Namespace> T>
void describe(V&, T& space) {
  auto& [name] = space;
  static_cast<void>(name);
}

template <class V, Is<model::Band> T>
void describe(V& v, T& band) {
  auto& [low, high] = band;
  v.field("low", low, "at least so many", kPoolSize);
  v.field("high", high, "at most so many", kPoolSize);
}

template <class V, Is<model::ScalingPolicy> T>
void describe(V& v, T& scaling) {
  auto& [minimum, maximum, burst, idle, idle_percent, standby, cooldown] = scaling;
  v.field("minimum", minimum, "instances there are at least", kPoolSize);
  v.field("maximum", maximum, "instances there are at most", kAtLeastOne);
  v.field("burst", CountOr{burst, "unlimited"},
          "most instances being created at once, and most being removed at once", kAtLeastOne);
  v.field("idle", idle, "how many instances wait for sessions");
  v.field("idlePercent", idle_percent,
          "instead of idle: how many percent of all instances wait for sessions");
  v.field("standby", standby, "how many paused instances to keep behind those that wait");
  v.field("cooldown", cooldown, "only what was too much for so long is removed");
}

template <class V, Is<model::SessionOptions> T>
void describe(V& v, T& sessions) {
  auto& [per_instance, service, reuse, kill_when_closed, open_timeout, close_grace, claim, ttl,
         idle_timeout, reopen, keep_finished, health_period] = sessions;
  v.field("perInstance", per_instance, "sessions that an instance serves at once", kAtLeastOne);
  v.field("service", service, "its instances talk to the session service of their node");
  v.field("reuse", reuse,
          "an instance serves others after a session; left out: if it uses the session service");
  v.field("killWhenClosed", kill_when_closed, "an instance ends with its last session");
  v.field("openTimeout", open_timeout, "how long who opens a session waits for it", Positive{});
  v.field("closeGrace", close_grace, "how long a session may take to close");
  v.field("claim", claim, "a session that nobody has used for so long is closed; 0s: never");
  v.field("ttl", ttl, "how long a session may be open; left out: for good", Positive{});
  v.field("idleTimeout", idle_timeout,
          "a session without clients for so long is closed; needs the session service", Positive{});
  v.field("reopen", reopen, "a session that is lost is opened again, under its name");
  v.field("keepFinished", keep_finished, "how long sessions are shown after their end");
  v.field("healthPeriod", health_period, "how often an instance vouches for its sessions",
          Positive{});
}

template <class V, Is<model::Application> T>
void describe(V& v, T& application) {
  auto& [name, space, item, version, priority, labels, nodes, scaling, sessions] = application;
  v.required("item", item, "metadata.name of the item, which is a service");
  v.field("version", version, "left out: the item's only version", Version{});
  v.field("priority", priority, "the higher, the earlier its instances get their place", kPriority);
  v.field("labels", labels, "labels that the node must have", Each{Label{}});
  v.field("nodes", nodes, "nodes that may be used; left out: any");
  v.field("scaling", scaling, "how many instances there are");
  v.field("sessions", sessions, "what holds for its sessions");
}

}  // namespace berth::codec
