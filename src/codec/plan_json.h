#pragma once

#include <cstdint>
#include <string>

#include "model/decision.h"
#include "placement/downtime.h"
#include "placement/held.h"
#include "placement/plan.h"

// Plans for programs. Field names and their order are a contract: docs and scripts rely on them.
namespace berth::codec {

// One JSON object, one line per placement, refusal, stop and node. Ends with a newline. Text that
// is not UTF-8 has its wrong bytes replaced, so that the answer is always valid JSON.
std::string plan_to_json(const placement::Plan& plan, std::uint64_t revision,
                         const placement::Downtimes& downtimes = {});

// The same as YAML.
std::string plan_to_yaml(const placement::Plan& plan, std::uint64_t revision,
                         const placement::Downtimes& downtimes = {});

// What runs instead of versions that failed, by run request: a list of `HeldVersions` of the API.
std::string held_to_json(const placement::Held& held);

// Where instances did not come up: a list of `AvoidedNodes` of the API.
std::string avoided_to_json(const placement::Held& held);

// How one instance came to its place, or did not: what `berth why` prints. `decision` is what was
// decided about it, if anything was, with what the nodes said then; whether it `stands` tells if
// the same would be decided now. `now` is what the plan decides. Unlike in a plan, the phrases for
// people belong to the answer.
std::string explanation_to_json(const placement::Plan& plan,
                                const placement::Explanation& explanation,
                                const model::DecisionRecord* decision = nullptr);

}  // namespace berth::codec
