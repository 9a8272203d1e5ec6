#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/exit_code.h"
#include "cli/show/console.h"
#include "model/scaling.h"

// `berth plan --pool`: what the scaling policy of an application would do to pools of such sizes.
namespace berth::cli {

struct PoolPlanFlags {
  std::vector<std::string> files;
  std::string pool;  // "active=3,ready=4"
  std::string output;
};

// Left out is 0; the error says which words there are.
Result<model::PoolSizes> parse_pool(std::string_view text);

Result<ExitCode> plan_pool(const PoolPlanFlags& flags, Console& console);

}  // namespace berth::cli
