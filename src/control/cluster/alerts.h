#pragma once

#include <optional>

#include "control/context.h"

namespace berth::control {

// The node has said what the instance uses: if its item has alerts, that is compared with them.
void hear_usage(Context& context, const model::ReportedStatus& status);

// What people are told of an instance that uses too much; nullopt: it does not.
std::optional<model::Problem> alert_of(const Context& context, const model::InstanceKey& key);

}  // namespace berth::control
