#pragma once

#include "codec/describe_node.h"
#include "model/records.h"

// What is kept on disk beside documents.
namespace berth::codec {

template <class V, Is<model::InstanceKey> T>
void describe(V& v, T& key) {
  v.required("item", key.item);
  v.required("subject", key.subject);
  v.field("index", key.index);
}

template <class V, Is<model::Place> T>
void describe(V& v, T& place) {
  v.required("node", place.node);
  v.required("runtime", place.runtime);
}

template <class V, Is<model::Leaving> T>
void describe(V& v, T& leaving) {
  v.required("place", leaving.place);
  v.required("version", leaving.version);
  v.field("image", leaving.image);
  v.field("stopFirst", leaving.stop_first);
}

template <class V, Is<model::InstanceRecord> T>
void describe(V& v, T& record) {
  v.required("key", record.key);
  v.field("type", record.type);
  v.required("version", record.version);
  v.field("priority", record.priority);
  v.required("phase", record.phase);
  v.field("place", record.place);
  v.field("image", record.image);
  v.field("leaving", record.leaving);
  v.field("ownRuntime", record.own_runtime);
  v.field("preinstalled", record.preinstalled);
  v.required("uid", record.uid);
  v.required("gid", record.gid);
}

template <class V, Is<model::NodeRecord> T>
void describe(V& v, T& record) {
  v.required("id", record.id);
  v.required("info", record.info);
  v.field("cordoned", record.cordoned);
}

template <class V, Is<model::GroupRecord> T>
void describe(V& v, T& record) {
  v.required("item", record.item);
  v.required("gid", record.gid);
}

template <class V, Is<model::FreedIdRecord> T>
void describe(V& v, T& record) {
  v.required("sequence", record.sequence);
  v.required("id", record.id);
}

template <class V, Is<model::CounterRecord> T>
void describe(V& v, T& record) {
  v.required("epoch", record.epoch);
  v.required("revision", record.revision);
  v.required("nextUid", record.next_uid);
  v.required("nextGid", record.next_gid);
  v.required("nextFreed", record.next_freed);
}

template <class V, Is<model::CommandNumber> T>
void describe(V& v, T& number) {
  v.required("epoch", number.epoch);
  v.required("number", number.number);
}

template <class V, Is<model::InstanceSpec> T>
void describe(V& v, T& spec) {
  v.required("key", spec.key);
  v.required("item", spec.item);
  v.field("image", spec.image);
  v.required("runtime", spec.runtime);
  v.field("priority", spec.priority);
  v.required("uid", spec.uid);
  v.required("gid", spec.gid);
}

template <class V, Is<model::WantedRecord> T>
void describe(V& v, T& record) {
  v.required("spec", record.spec);
  v.required("generation", record.generation);
  v.field("finished", record.finished);
  v.field("exitCode", record.exit_code);
}

}  // namespace berth::codec
