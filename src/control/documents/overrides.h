#pragma once

#include <map>
#include <optional>
#include <string>

#include "control/context.h"

// Variables that operators set beside what the items say.
namespace berth::control {

// The overridden variables of the instance. Later entries win, and so do documents of later names.
std::map<std::string, std::string> variables_of(const Durable& durable,
                                                const model::InstanceKey& key);

// Puts another list in the place of the document's, or none; marks those instances whose variables
// change by that, and tells which.
std::set<model::InstanceKey> replace_override(Context& context, const std::string& name,
                                              std::optional<model::EnvOverride> list);

// The instances with a place for which the list sets anything.
std::set<model::InstanceKey> overridden_by(const Durable& durable, const model::EnvOverride& list);

// When the first variable expires, of a list that was written down at this time.
Time next_expiry(const model::EnvOverride& override, Time written);

// The list after so long: without what has expired, and with less time for the rest. Nullopt if
// nothing is left of a list that had something.
std::optional<model::EnvOverride> what_is_left(const model::EnvOverride& override,
                                               Duration elapsed);

}  // namespace berth::control
