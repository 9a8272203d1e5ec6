#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/id.h"

namespace berth::model {

using NodeId = Id<struct NodeTag>;
using RuntimeId = Id<struct RuntimeTag>;  // unique on its node
using ItemId = Id<struct ItemTag>;
using SubjectId = Id<struct SubjectTag>;
using OwnerId = Id<struct OwnerTag>;

// One replica of an item for a subject.
struct InstanceKey {
  ItemId item;
  SubjectId subject;
  std::uint32_t index = 0;

  friend bool operator==(const InstanceKey&, const InstanceKey&) = default;
  friend auto operator<=>(const InstanceKey&, const InstanceKey&) = default;
};

// "item/subject/index", as people write it on the command line and read it in every output.
std::string to_string(const InstanceKey& key);

// One version of an item; versions are compared as text, only for equality.
struct ItemKey {
  ItemId item;
  std::string version;

  friend bool operator==(const ItemKey&, const ItemKey&) = default;
  friend auto operator<=>(const ItemKey&, const ItemKey&) = default;
};

std::string to_string(const ItemKey& key);

// Where an instance is: a runtime of a node.
struct Place {
  NodeId node;
  RuntimeId runtime;

  friend bool operator==(const Place&, const Place&) = default;
  friend auto operator<=>(const Place&, const Place&) = default;
};

std::string to_string(const Place& place);

}  // namespace berth::model
