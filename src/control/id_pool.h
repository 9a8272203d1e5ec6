#pragma once

#include <cstdint>
#include <optional>

#include "control/config.h"
#include "control/state.h"

// User and group ids of instances. O(1) to take and give back; what was never used is taken first,
// then what has been free for longest, so that an id is not mistaken for its last holder's.
namespace berth::control {

// nullopt: none is free.
std::optional<std::uint32_t> take_uid(State& state, IdRange range);
void give_back_uid(State& state, std::uint32_t uid);

// The group of an item: the one it has, else a new one.
std::optional<std::uint32_t> gid_of(State& state, const model::ItemId& item, IdRange range);

// Why an instance gets no record: one without ids cannot run anywhere.
model::Problem no_free_ids();

}  // namespace berth::control
