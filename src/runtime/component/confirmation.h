#pragma once

#include <string>
#include <vector>

#include "model/instance.h"
#include "runtime/runtime.h"
#include "runtime/supervision/interrupt.h"
#include "runtime/supervision/supervisor.h"

namespace berth::runtime {

// Who says that a version that is being tried is good.
struct Confirmation {
  std::vector<std::string> program;  // asked about items without a health check; empty: nobody is
  Duration timeout{};
};

// A version that is being tried.
struct TriedVersion {
  const model::InstanceSpec& spec;
  std::string path;  // of its slot; "": it has none
  const Interrupt& interrupt;
};

// Waits until the version is confirmed: by the item's health check, which has to pass once before
// it has failed too often; else by the program, which has to end with 0. NotConfirmed otherwise.
Started<void> await_confirmation(const Confirmation& confirmation, const TriedVersion& trial,
                                 Runtime& runtime);

}  // namespace berth::runtime
