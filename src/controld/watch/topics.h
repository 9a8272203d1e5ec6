#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

// What can be watched: what is observed, and every kind of document by its plural.
namespace berth::controld {

inline constexpr std::string_view kInstancesTopic = "instances";
inline constexpr std::string_view kNodesTopic = "nodes";
inline constexpr std::string_view kEventsTopic = "events";
inline constexpr std::string_view kSessionsTopic = "sessions";
inline constexpr std::string_view kPoolsTopic = "pools";

using Topics = std::set<std::string, std::less<>>;

// Of who names none.
Topics default_topics();

// "instances,deployments"; the error lists what there is.
Result<Topics> parse_topics(std::string_view text);

}  // namespace berth::controld
