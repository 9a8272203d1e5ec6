#pragma once

#include "codec/describe.h"

// What operators change about instances without touching their items.
namespace berth::codec {

template <class V, Is<model::EnvVariable> T>
void describe(V& v, T& variable) {
  auto& [name, value, expires] = variable;
  v.required("name", name, "name of the variable", VariableName{});
  v.required("value", value, "what it is set to");
  v.field("expires", expires, "for how long, from when it is applied; left out: for good",
          Positive{});
}

template <class V, Is<model::EnvEntry> T>
void describe(V& v, T& entry) {
  auto& [item, subject, index, variables] = entry;
  v.field("item", item, "only for instances of this item; left out: of any");
  v.field("subject", subject, "only for this subject; left out: for any");
  v.field("index", index, "only for the instance of this index; left out: for any");
  v.required("variables", variables, "what is set for these instances", NonEmpty{});
}

template <class V, Is<model::EnvOverride> T>
void describe(V& v, T& override) {
  auto& [name, entries, counted_from] = override;
  v.required("entries", entries, "later ones win; the list replaces the one that was there");
}

// A stored list knows from when its times count; nobody writes that into a manifest.
template <class V, Is<model::EnvOverride> T>
void describe_value(V& v, T& override) {
  v.required("name", override.name, "metadata.name of the document", Name{});
  describe(v, override);
  v.field("countedFrom", override.counted_from);
}

template <class V, Is<model::Subject> T>
void describe(V& v, T& subject) {
  auto& [id, present] = subject;
  v.field("present", present,
          "false: its instances are inactive and hold nothing, until it is back");
}

}  // namespace berth::codec
