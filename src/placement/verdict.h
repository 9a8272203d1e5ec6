#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/pipeline.h"
#include "placement/plan.h"

// Verdicts in words.
namespace berth::placement {

// Ordered by node id.
std::vector<NodeVerdict> describe_all(const std::vector<SnapshotNode>& nodes, const Ask& request,
                                      const std::vector<Verdict>& verdicts);

// What every node says to the request now, whether it fits or not. Ordered by node id.
std::vector<NodeVerdict> verdicts_for(const Pipeline& pipeline, const Ask& request);

// The same in figures, for later.
model::NodeAnswer answer_of(const SnapshotNode& node, const Ask& request, const Verdict& verdict);
model::NodeAnswer answer_of(const Fit& winner, const Fit& fit);

// What a node has said, with its words; `chosen` is the one that was, or nullptr.
NodeVerdict verdict_of(const model::NodeAnswer& answer, const model::NodeId* chosen);

// Whether a rule compares what is asked for with what there is.
bool is_amount(Reason reason);

// "64 MiB", or exact bytes where a unit would round.
std::string human(Bytes bytes);

}  // namespace berth::placement
