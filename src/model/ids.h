#pragma once

#include <compare>
#include <cstdint>
#include <functional>
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

template <>
struct std::hash<berth::model::InstanceKey> {
  std::size_t operator()(const berth::model::InstanceKey& key) const noexcept {
    // Instances of one item differ in the index only: it is spread over all bits.
    std::size_t mixed = std::hash<berth::model::ItemId>{}(key.item);
    mixed ^= std::hash<berth::model::SubjectId>{}(key.subject) * 31;
    return mixed ^ (std::size_t{key.index} + 1) * 0x9e3779b97f4a7c15u;
  }
};
