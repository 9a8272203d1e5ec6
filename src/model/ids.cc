#include "model/ids.h"

#include <fmt/format.h>

namespace berth::model {

std::string to_string(const InstanceKey& key) {
  return fmt::format("{}/{}/{}", key.item.value(), key.subject.value(), key.index);
}

std::string to_string(const ItemKey& key) {
  return fmt::format("{}@{}", key.item.value(), key.version);
}

std::string to_string(const Place& place) {
  return fmt::format("{}/{}", place.node.value(), place.runtime.value());
}

}  // namespace berth::model
