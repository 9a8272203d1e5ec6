#pragma once

#include <string>

#include "agent/events.h"
#include "control/events.h"

// What crosses the borders of the cores, in one line each, for the trace.
namespace berth::sim {

std::string describe(const model::Command& command);
std::string describe(const model::PoolCommand& command);
std::string describe(const model::Report& report);
std::string describe(const control::Event& event);
std::string describe(const control::Reply& reply);
std::string describe(const control::SessionReply& reply);
std::string describe(const agent::Event& event);
std::string describe(const agent::Action& action);
std::string describe(const agent::PoolAction& action);

}  // namespace berth::sim
