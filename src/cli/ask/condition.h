#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/ask/objects.h"
#include "cli/ask/watching.h"

// What `berth wait` waits for.
namespace berth::cli {

struct Condition {
  Kind kind = Kind::Instance;  // or Node, or Deployment
  std::string name;
  std::string value;  // "active", "reachable", "gone", ...; in lower case
};

// "instance/web=active", "node/n1=reachable", "deployment/base=active".
Result<Condition> parse_condition(std::string_view text);
std::string to_string(const Condition& condition);

// What a deployment runs: how many of which item for whom; no count: as many as there are.
struct Run {
  model::ItemId item;
  model::SubjectId subject;
  std::optional<std::uint32_t> count;
};
std::vector<Run> runs_of(const google::protobuf::Struct& deployment);

// Whether it holds in what is known. `runs` are those of the deployment, if it is about one.
bool holds(const Condition& condition, const Mirror& mirror, const std::vector<Run>& runs);

// Of one that does not hold: whether all that is missing is on nodes that are away.
bool waits_only_for_nodes_that_are_away(const Condition& condition, const Mirror& mirror,
                                        const std::vector<Run>& runs);

// What is the case instead: "web/default/0 is Activating"; for the message of a timeout.
std::string state_instead(const Condition& condition, const Mirror& mirror,
                          const std::vector<Run>& runs);

}  // namespace berth::cli
