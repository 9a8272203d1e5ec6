#pragma once

#include "control/context.h"

// Times that run out: how long cached instances are kept, and overrides hold. See Countdowns.
namespace berth::control {

// At a start everything has as much time left as was written down last.
void begin_countdowns(Context& context);

// A cached instance counts down from when it is cached until it is something else.
void count_down(Context& context, const model::InstanceRecord& record);
void stop_counting_down(Context& context, const model::InstanceKey& key);

// What is left of everything that runs out, before the control plane stops.
void write_down_all(Context& context);

// When a time runs out, or must be written down at the latest.
Time next_countdown(const Context& context);

// How long a cached instance is kept from now on.
Duration time_left(const Context& context, const model::InstanceRecord& record);

// Deletes a cached instance: first its data, wherever they are, then its record and ids.
void delete_instance(Context& context, const model::InstanceKey& key, std::string why);

}  // namespace berth::control
