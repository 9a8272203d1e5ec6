#pragma once

#include "control/context.h"
#include "placement/plan.h"

namespace berth::control {

// What the last rebalance moved has come to rest: the next one may begin after a while.
void rebalance_ended(Context& context, std::size_t moved);

// When a rebalance may be due, if nothing changes until then.
Time next_rebalance(const Context& context);

}  // namespace berth::control
