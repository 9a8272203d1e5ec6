#pragma once

#include <string>

#include "sim/run.h"

// What people read of runs.
namespace berth::sim {

// What was violated and when, and how to see it again; empty if everything held.
std::string failure_text(const Outcome& outcome);

// What happened in a run, or in several added up.
std::string summary_text(const Counts& counts, Duration virtual_time);

void add(const Counts& from, Counts& to);

}  // namespace berth::sim
