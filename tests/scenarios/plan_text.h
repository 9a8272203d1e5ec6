#pragma once

#include <string>

#include "placement/plan.h"

// Plans as lines of text, for transcripts.
namespace berth::scenarios {

std::string to_text(const placement::Plan& plan);

// What the nodes have, and what the plan takes of it.
std::string nodes_to_text(const placement::Plan& plan);

std::string to_text(const placement::Explanation& explanation);

}  // namespace berth::scenarios
