#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "base/result.h"
#include "model/ids.h"

namespace berth::codec {

// An instance as people name it: `[instance/]item[/subject[/index]]`.
struct InstanceName {
  model::ItemId item;
  std::optional<model::SubjectId> subject;
  std::uint32_t index = 0;
};
Result<InstanceName> parse_instance_name(std::string_view name);

// The one that is meant. Without a subject: the item's only one, else `default`. Not found: the
// error suggests a known one.
Result<model::InstanceKey> find_instance(std::string_view name,
                                         const std::set<model::InstanceKey>& known);

}  // namespace berth::codec
