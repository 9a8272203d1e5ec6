#pragma once

#include <string>

#include "placement/plan.h"

// What is done for an overloaded node, in words: notes, tables and transcripts say the same.
namespace berth::placement {

// "89.5 %"
std::string percent_text(std::int64_t part, std::int64_t whole);

// "cpu 92.0 % -> 71.5 %, min 75.0 %", for each resource that it is overloaded with.
std::string usage_text(const Relief& relief);

// Why nothing relieves it: a clause.
std::string why_text(const Relief& relief);

}  // namespace berth::placement
