#pragma once

#include "base/result.h"
#include "control/events.h"
#include "control/state.h"

namespace berth::control {

struct Context;

// Whether the call may be carried out.
Result<void> check_apply(const Context& context, const ApplyCall& call);

// Whether the documents that are left without this one still fit together.
Result<void> check_without_item(const Durable& durable, const model::ItemKey& key);

}  // namespace berth::control
