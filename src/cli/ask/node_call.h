#pragma once

#include <string>

#include "base/result.h"
#include "cli/ask/objects.h"

namespace berth::cli {

// Calls POST /v1/nodes/{node}/{action}. An unknown node is NotFound, with a suggestion.
Result<v1::Revision> call_node(const client::Client& client, const std::string& node,
                               const std::string& action, const client::Message& request);

}  // namespace berth::cli
