#include <cstdio>

#include "runtime/shim/supervise.h"

// Started by the agent, once per run of an instance.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: berth-shim RUN_DIRECTORY\n", stderr);
    return 2;
  }
  return berth::runtime::shim::supervise(argv[1]);
}
