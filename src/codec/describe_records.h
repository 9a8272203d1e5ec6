#pragma once

#include "codec/describe_node.h"
#include "model/decision.h"
#include "model/records.h"

// What is kept on disk beside documents.
namespace berth::codec {

template <class V, Is<model::InstanceKey> T>
void describe(V& v, T& key) {
  auto& [item, subject, index] = key;
  v.required("item", item);
  v.required("subject", subject);
  v.field("index", index);
}

template <class V, Is<model::Place> T>
void describe(V& v, T& place) {
  auto& [node, runtime] = place;
  v.required("node", node);
  v.required("runtime", runtime);
}

template <class V, Is<model::Leaving> T>
void describe(V& v, T& leaving) {
  auto& [place, version, image, stop_first, hand_over, empty] = leaving;
  v.required("place", place);
  v.required("version", version);
  v.field("image", image);
  v.field("stopFirst", stop_first);
  v.field("handOver", hand_over);
  v.field("empty", empty);
}

template <class V, Is<model::InstanceRecord> T>
void describe(V& v, T& record) {
  auto& [key, type, version, priority, phase, place, home, image, leaving, own_runtime,
         preinstalled, uid, gid, address, kept_for, data_on, paused, first_command, awaits_room] =
      record;
  v.required("key", key);
  v.field("type", type);
  v.required("version", version);
  v.field("priority", priority);
  v.required("phase", phase);
  v.field("place", place);
  v.field("home", home);
  v.field("image", image);
  v.field("leaving", leaving);
  v.field("ownRuntime", own_runtime);
  v.field("preinstalled", preinstalled);
  v.required("uid", uid);
  v.required("gid", gid);
  v.field("address", address);
  v.field("keptFor", kept_for);
  v.field("dataOn", data_on);
  v.field("paused", paused);
  v.field("firstCommand", first_command);
  v.field("awaitsRoom", awaits_room);
}

template <class V, Is<model::NodeAnswer> T>
void describe(V& v, T& answer) {
  auto& [node, reason, behind, asked, has, what] = answer;
  v.required("node", node);
  v.field("reason", reason);
  v.field("behind", behind);
  v.field("asked", asked);
  v.field("has", has);
  v.field("what", what);
}

template <class V, Is<model::NodeAnswers> T>
void describe(V& v, T& answers) {
  auto& [lines, left_out] = answers;
  std::vector<model::NodeAnswer> nodes;  // as they were kept before they were lines
  v.field("nodes", nodes);
  v.field("lines", lines);
  v.field("leftOut", left_out);
  if constexpr (!std::is_const_v<T>) {
    if (!nodes.empty()) lines = answers_of(nodes).lines;
  }
}

template <class V, Is<model::DecisionRecord> T>
void describe(V& v, T& decision) {
  auto& [key, revision, kind, text, because, place, reason, hint, answers] = decision;
  v.required("key", key);
  v.required("revision", revision);
  v.required("kind", kind);
  v.field("text", text);
  v.field("because", because);
  v.field("place", place);
  v.field("reason", reason);
  v.field("hint", hint);
  v.field("answers", answers);
}

template <class V, Is<model::DrainOrder> T>
void describe(V& v, T& drain) {
  auto& [why, deadline, overdue] = drain;
  v.field("why", why);
  v.field("deadline", deadline);
  v.field("overdue", overdue);
}

template <class V, Is<model::KeptCondition> T>
void describe(V& v, T& condition) {
  auto& [type, status, changed_at] = condition;
  v.required("type", type);
  v.required("status", status);
  v.field("changedAt", changed_at);
}

template <class V, Is<model::KeptReadiness> T>
void describe(V& v, T& readiness) {
  auto& [runtime, graced, changed_at, has_been_ready] = readiness;
  v.required("runtime", runtime);
  v.required("graced", graced);
  v.field("changedAt", changed_at);
  v.field("hasBeenReady", has_been_ready);
}

template <class V, Is<model::NodeRecord> T>
void describe(V& v, T& record) {
  auto& [id, info, cordoned, drain, conditions, readiness] = record;
  v.required("id", id);
  v.required("info", info);
  v.field("cordoned", cordoned);
  v.field("drain", drain);
  v.field("conditions", conditions);
  v.field("readiness", readiness);
}

template <class V, Is<model::GroupRecord> T>
void describe(V& v, T& record) {
  auto& [item, gid] = record;
  v.required("item", item);
  v.required("gid", gid);
}

template <class V, Is<model::FreedIdRecord> T>
void describe(V& v, T& record) {
  auto& [sequence, id] = record;
  v.required("sequence", sequence);
  v.required("id", id);
}

template <class V, Is<model::NetworkRecord> T>
void describe(V& v, T& record) {
  auto& [owner, vxlan, subnet, next_host] = record;
  v.required("owner", owner);
  v.required("vxlan", vxlan);
  v.required("subnet", subnet);
  v.required("nextHost", next_host);
}

template <class V, Is<model::NodeAddressRecord> T>
void describe(V& v, T& record) {
  auto& [owner, node, address] = record;
  v.required("owner", owner);
  v.required("node", node);
  v.required("address", address);
}

template <class V, Is<model::FreedAddressRecord> T>
void describe(V& v, T& record) {
  auto& [owner, sequence, address] = record;
  v.required("owner", owner);
  v.required("sequence", sequence);
  v.required("address", address);
}

template <class V, Is<model::Problem> T>
void describe(V& v, T& problem) {
  auto& [reason, message, hindrance] = problem;
  v.required("reason", reason);
  v.field("message", message);
  v.field("hindrance", hindrance);
}

template <class V, Is<model::RolloutRecord> T>
void describe(V& v, T& record) {
  auto& [item, subject, from, to, allow_partial, failed, kept_back, proven, edited, outdated,
         halted] = record;
  v.required("item", item);
  v.required("subject", subject);
  v.required("from", from);
  v.required("to", to);
  v.field("allowPartial", allow_partial);
  v.field("failed", failed);
  v.field("keptBack", kept_back);
  v.field("proven", proven);
  v.field("edited", edited);
  v.field("outdated", outdated);
  v.field("halted", halted);
}

// Without the content, which is bytes and no text; see record.cc.
template <class V, Is<model::SavedState> T>
void describe(V& v, T& state) {
  auto& [key, generation, digest, content] = state;
  static_cast<void>(content);
  v.required("key", key);
  v.required("generation", generation);
  v.field("digest", digest);
}

template <class V, Is<model::StateRecord> T>
void describe(V& v, T& record) {
  auto& [state, node, is_behind, since] = record;
  v.required("state", state);
  v.required("node", node);
  v.field("isBehind", is_behind);
  v.field("since", since);
}

template <class V, Is<model::CommandNumber> T>
void describe(V& v, T& command) {
  auto& [epoch, number] = command;
  v.required("epoch", epoch);
  v.required("number", number);
}

template <class V, Is<model::Receipt> T>
void describe(V& v, T& receipt) {
  auto& [cluster, number, seal, life] = receipt;
  v.required("cluster", cluster);
  v.required("number", number);
  v.required("seal", seal);
  v.field("life", life);
}

template <class V, Is<model::Hold> T>
void describe(V& v, T& hold) {
  auto& [reason, shown, node, known] = hold;
  v.required("reason", reason);
  v.required("shown", shown);
  v.field("node", node);
  v.field("known", known);
}

template <class V, Is<model::LifeRecord> T>
void describe(V& v, T& record) {
  auto& [since, life] = record;
  v.required("since", since);
  v.required("life", life);
}

template <class V, Is<model::ApplicationKey> T>
void describe(V& v, T& key) {
  auto& [space, name] = key;
  v.required("namespace", space);
  v.required("name", name);
}

template <class V, Is<model::NumberBlockRecord> T>
void describe(V& v, T& record) {
  auto& [application, reserved_to, edition] = record;
  v.required("application", application);
  v.required("reservedTo", reserved_to);
  v.required("edition", edition);
}

template <class V, Is<model::PortBlockRecord> T>
void describe(V& v, T& record) {
  auto& [address, held] = record;
  v.required("address", address);
  v.required("held", held);
}

template <class V, Is<model::CounterRecord> T>
void describe(V& v, T& record) {
  auto& [epoch, revision, next_uid, next_gid, next_freed, cluster, hold] = record;
  v.required("epoch", epoch);
  v.required("revision", revision);
  v.required("nextUid", next_uid);
  v.required("nextGid", next_gid);
  v.required("nextFreed", next_freed);
  v.field("cluster", cluster);
  v.field("hold", hold);
}

template <class V, Is<model::InstanceSpec> T>
void describe(V& v, T& spec) {
  auto& [key, item, image, runtime, priority, uid, gid, network, paused, prepare_only, socket] =
      spec;
  v.required("key", key);
  v.required("item", item);
  v.field("image", image);
  v.required("runtime", runtime);
  v.field("priority", priority);
  v.required("uid", uid);
  v.required("gid", gid);
  v.field("network", network);
  v.field("paused", paused);
  v.field("prepareOnly", prepare_only);
  v.field("sessionSocket", socket);
}

template <class V, Is<model::Successor> T>
void describe(V& v, T& successor) {
  auto& [spec, generation] = successor;
  v.required("spec", spec);
  v.required("generation", generation);
}

template <class V, Is<model::WantedRecord> T>
void describe(V& v, T& record) {
  auto& [spec, generation, finished, exit_code, successor] = record;
  v.required("spec", spec);
  v.required("generation", generation);
  v.field("finished", finished);
  v.field("exitCode", exit_code);
  v.field("successor", successor);
}

}  // namespace berth::codec
