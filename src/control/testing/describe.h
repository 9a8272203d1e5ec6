#pragma once

#include <fmt/format.h>

#include <string>
#include <variant>
#include <vector>

#include "control/events.h"

// Effects as lines of text: for transcripts, and to see where two of them differ.
namespace berth::control {

std::string describe(const model::InstanceStatus& status);

std::string describe(const Outgoing& outgoing);

std::string describe(const Note& note);

std::vector<std::string> describe(const Reply& reply);

std::string describe(const Write& write);

std::vector<std::string> describe(const Effects& effects);

}  // namespace berth::control
