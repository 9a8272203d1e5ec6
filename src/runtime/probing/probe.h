#pragma once

#include <string>

#include "base/time.h"
#include "model/runtime.h"

namespace berth::runtime {

// What trying a runtime has shown.
struct ProbeResult {
  model::Readiness compute = model::Readiness::Ready;  // whether instances can be started
  model::Readiness network = model::Readiness::Ready;  // and connected
  std::string reason;                                  // why it is not Ready, one token
  std::string message;                                 // the same for people

  // Ready if both are; NotReady if one is known not to be.
  model::Readiness readiness() const;

  friend bool operator==(const ProbeResult&, const ProbeResult&) = default;
};

// "": it is Ready.
ProbeResult compute_result(std::string why_not);
ProbeResult network_result(std::string why_not);

// It cannot be said whether it works.
ProbeResult probe_failed(std::string why);
ProbeResult probe_timed_out(Duration deadline);

// One result of two that were made of different parts of a runtime.
ProbeResult together(ProbeResult compute, const ProbeResult& network);

}  // namespace berth::runtime
