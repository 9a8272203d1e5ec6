#pragma once

#include "codec/describe_application.h"
#include "codec/describe_records.h"
#include "model/pool.h"

// What an agent keeps beside the run of a pool instance.
namespace berth::codec {

// By the machine's clock, since its zero.
template <>
struct Scalar<Time> {
  static std::string text(const Time& value) {
    return Scalar<Duration>::text(value.time_since_epoch());
  }
  static Result<Time> parse(std::string_view text) {
    return Time(TRY(Scalar<Duration>::parse(text)));
  }
};

template <class V, Is<model::SessionKey> T>
void describe(V& v, T& key) {
  auto& [space, name] = key;
  v.required("namespace", space);
  v.required("name", name);
}

template <class V, Is<model::SessionRef> T>
void describe(V& v, T& ref) {
  auto& [key, incarnation] = ref;
  v.required("key", key);
  v.field("incarnation", incarnation);
}

template <class V, Is<model::SessionPort> T>
void describe(V& v, T& port) {
  auto& [own, external_address, external, internal] = port;
  v.required("port", own);
  v.field("externalAddress", external_address);
  v.field("external", external);
  v.field("internal", internal);
}

// The data are any bytes: they follow the line.
template <class V, Is<model::SessionSpec> T>
void describe(V& v, T& session) {
  auto& [ref, instance, request_id, caller, data, ports, close_grace, claim, ttl, idle_timeout,
         reopen] = session;
  static_cast<void>(data);
  v.required("ref", ref);
  v.required("instance", instance);
  v.field("requestId", request_id);
  v.field("caller", caller);
  v.field("ports", ports);
  v.field("closeGrace", close_grace);
  v.field("claim", claim);
  v.field("ttl", ttl);
  v.field("idleTimeout", idle_timeout);
  v.field("reopen", reopen);
}

template <class V, Is<model::KeptSession> T>
void describe(V& v, T& kept) {
  auto& [session, state, available_at, claimed, clients, idle_since, closes_by, reason] = kept;
  v.required("session", session);
  v.field("state", state);
  v.field("availableAt", available_at);
  v.field("claimed", claimed);
  v.field("clients", clients);
  v.field("idleSince", idle_since);
  v.field("closesBy", closes_by);
  v.field("reason", reason);
}

template <class V, Is<model::PoolNote> T>
void describe(V& v, T& note) {
  auto& [edition, options, token, ports, sessions] = note;
  v.required("edition", edition);
  v.field("options", options);
  v.field("token", token);
  v.field("ports", ports);
  v.field("sessions", sessions);
}

}  // namespace berth::codec
