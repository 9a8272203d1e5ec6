#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/pipeline.h"
#include "placement/plan.h"

// Verdicts in words.
namespace berth::placement {

// Ordered by node id.
std::vector<NodeVerdict> describe_all(const std::vector<NodeView>& nodes, const Request& request,
                                      const std::vector<Verdict>& verdicts);

// What every node says to the request now, whether it fits or not. Ordered by node id.
std::vector<NodeVerdict> verdicts_for(const Pipeline& pipeline, const Request& request);

// "64 MiB", or exact bytes where a unit would round.
std::string human(Bytes bytes);

}  // namespace berth::placement
