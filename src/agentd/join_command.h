#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace berth::agentd {

// "https://HOST:PORT TOKEN [--name NAME] [--state-dir DIR]": makes a key, joins, and keeps the
// identity and where the control plane is, so that the agent then just runs. Gives what to tell the
// user. Joining again replaces the identity, which is how an expired one is recovered.
Result<std::string> run_join(const std::vector<std::string>& arguments);

}  // namespace berth::agentd
