#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/ids.h"

namespace berth::cli {

// The instance that people mean by `[instance/]item[/subject[/index]]`. Without a subject: the
// item's only one, else `default`; without an index: 0. Not found: the error suggests a known one.
Result<model::InstanceKey> find_instance(std::string_view name,
                                         const std::set<model::InstanceKey>& known);

}  // namespace berth::cli
