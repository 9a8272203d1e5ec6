#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/instance.h"
#include "model/manifest.h"
#include "sim/checker.h"
#include "sim/world.h"

namespace berth::sim {

// What came of manifests in a simulated unit.
struct DemoOutcome {
  std::map<model::InstanceKey, model::InstanceStatus> statuses;
  std::vector<std::string> missing;  // what keeps it from being as desired; empty = settled
  std::vector<Violation> violations;
  Duration settled_after{};  // from the apply call on
};

// The Node documents are the machines; all others are applied to them. Things go wrong for a while
// only if the setup says so.
Result<DemoOutcome> run_demo(const Setup& setup, const model::Manifest& manifest);

// A table of instance, version, place and state.
std::string to_table(const DemoOutcome& outcome);

}  // namespace berth::sim
