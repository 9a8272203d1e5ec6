#pragma once

#include <string>
#include <vector>

namespace berth::tests {

struct Finished {
  int exit_code = -1;  // -1: ended by a signal
  std::string out;
  std::string err;
};

struct Invocation {
  std::vector<std::string> arguments;
  std::string input;                     // standard input
  std::vector<std::string> environment;  // "NAME=value", the whole of it
};

// Runs a program by argument vector, without a shell, and waits for its end.
Finished run(const std::string& program, const Invocation& invocation);

}  // namespace berth::tests
