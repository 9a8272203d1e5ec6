#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::runtime {

struct CommandOutcome {
  std::int32_t code = 0;
  std::string output;  // the last part of what it said, both streams
};

struct CommandLimits {
  Duration deadline{};
  int interrupt = -1;         // a descriptor: what becomes readable ends the program
  bool dies_with_us = false;  // instead of going on without us when we are killed
  std::string_view input{};   // what it reads
};

// Runs a program of the machine to its end. It inherits our environment, and reads what is given to
// it. At the deadline, or interrupted, it is killed: Unavailable. NotFound: there is no such
// program.
Result<CommandOutcome> run_command(const std::vector<std::string>& argv,
                                   const CommandLimits& limits);
Result<CommandOutcome> run_command(const std::vector<std::string>& argv, Duration deadline,
                                   std::string_view input = {});

// The end of what a program said, not longer than people read.
std::string last_words(std::string_view output);

// The program's full path: as it is if it is one, else looked up in PATH and where administrators'
// programs are; empty: there is none that can be executed.
std::string find_program(const std::string& name);

// What changes when another file comes in its place, or its content changes; "" if there is none.
std::string identity_of(const std::string& file);

}  // namespace berth::runtime
