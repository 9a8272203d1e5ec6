#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/component/slot_state.h"

// How a state of slots is kept: JSON that whoever prepares a machine can write by hand, too.
namespace berth::runtime {

std::string encode(const SlotState& state);

// Code::Damaged, with what is wrong. Who says nothing of a run means one that was preinstalled.
Result<SlotState> decode_slot_state(std::string_view bytes);

}  // namespace berth::runtime
