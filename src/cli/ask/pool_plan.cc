#include "cli/ask/pool_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/suggest.h"
#include "cli/ask/planning.h"
#include "cli/ask/sources.h"
#include "cli/show/figures.h"
#include "cli/show/json_text.h"
#include "cli/show/table.h"
#include "codec/scalar.h"

namespace berth::cli {
namespace {

using model::PoolSizes;
using model::ScalingStep;

struct PoolWord {
  std::string_view word;
  std::uint32_t PoolSizes::*size;
};

constexpr std::array kPoolWords{
    PoolWord{"active", &PoolSizes::active},
    PoolWord{"ready", &PoolSizes::ready},
    PoolWord{"pending", &PoolSizes::pending},
    PoolWord{"unplaced", &PoolSizes::unplaced},
    PoolWord{"standby", &PoolSizes::standby},
    PoolWord{"making", &PoolSizes::making_standby},
    PoolWord{"terminating", &PoolSizes::terminating},
    PoolWord{"waiting", &PoolSizes::waiting},
    PoolWord{"slots", &PoolSizes::free_slots},
};

Error unknown_word(std::string_view word) {
  std::vector<std::string_view> known;
  for (const PoolWord& each : kPoolWords) known.push_back(each.word);
  return invalid_input(fmt::format("--pool: \"{}\" is none of {}.{}", printable(word),
                                   fmt::join(known, ", "), did_you_mean(word, known)));
}

Result<void> set_size(PoolSizes& pools, std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::string_view word = part.substr(0, equals);
  const auto known = std::ranges::find(kPoolWords, word, &PoolWord::word);
  if (known == kPoolWords.end()) return unknown_word(word);
  const std::string_view number = equals == part.npos ? "" : part.substr(equals + 1);
  const auto size = codec::parse_integer<std::uint32_t>(number, 0, 1'000'000);
  if (!size) return invalid_input(fmt::format("--pool: {}: {}", word, size.error().message));
  pools.*known->size = *size;
  return {};
}

Result<model::Application> only_application(const model::Manifest& documents) {
  std::vector<const model::Application*> found;
  for (const model::Document& document : documents) {
    if (const auto* each = std::get_if<model::Application>(&document)) found.push_back(each);
  }
  if (found.size() == 1) return *found.front();
  return invalid_input(fmt::format("--pool is about one application, the files have {}",
                                   found.empty() ? "none" : std::to_string(found.size())));
}

// Alone is enough: what its item is does not matter here.
Result<model::Application> read_application(const PoolPlanFlags& flags, Console& console) {
  const auto sources = read_sources(flags.files, console.in);
  if (!sources) return invalid_input(sources.error().message);
  const model::Manifest documents =
      TRY(accept_parsed(codec::parse_each(*sources), "nothing was planned", console));
  return only_application(documents);
}

std::uint32_t removed_by(const ScalingStep& step) {
  return step.remove_unplaced + step.remove_pending + step.remove_ready + step.remove_standby;
}

// What is decided, and what from.
struct PoolPlan {
  const model::Application& application;
  const PoolSizes& pools;
  model::FreeInstances free;
  ScalingStep step;
};

Json json_of_plan(const PoolPlan& plan) {
  return {{"wanted", plan.free.wanted},
          {"create", plan.step.create},
          {"makeStandby", plan.step.make_standby},
          {"remove", removed_by(plan.step)},
          {"wake", plan.step.wake},
          {"pause", plan.step.pause_ready}};
}

std::string pools_text(const PoolSizes& pools) {
  std::vector<std::string> sizes;
  for (const PoolWord& each : kPoolWords) {
    if (pools.*each.size > 0) sizes.push_back(fmt::format("{} {}", pools.*each.size, each.word));
  }
  return sizes.empty() ? "nothing" : fmt::format("{}", fmt::join(sizes, ", "));
}

std::string idle_text(const model::ScalingPolicy& policy) {
  if (policy.idle_percent) {
    return fmt::format("{} to {} percent of all", policy.idle_percent->low,
                       policy.idle_percent->high);
  }
  const model::Band idle = policy.idle.value_or(model::Band{});
  return fmt::format("{} to {}", idle.low, idle.high);
}

std::string why_text(const PoolPlan& plan) {
  const model::ScalingPolicy& policy = plan.application.scaling;
  const auto& [needed, least, most, wanted] = plan.free;
  const std::uint64_t there =
      std::uint64_t{plan.pools.unplaced} + plan.pools.pending + plan.pools.ready;
  std::string text = fmt::format(
      "Sessions that wait need {}, and {} are to be idle: {} to {} pending or ready, {} there.\n",
      counted(static_cast<std::uint64_t>(needed), "instance"), idle_text(policy), least, most,
      there == 1 ? "1 is" : fmt::format("{} are", there));
  const auto between = std::clamp(static_cast<std::int64_t>(there), least, most);
  if (wanted != between) {
    text += fmt::format("With {} active, minimum {} and maximum {} make that {}.\n",
                        plan.pools.active, policy.minimum, policy.maximum, wanted);
  }
  return text;
}

std::string steps_text(const ScalingStep& step) {
  std::string text;
  const auto add = [&](std::uint32_t count, std::string_view verb, std::string_view what) {
    if (count > 0) text += fmt::format("  {} {}{}\n", verb, count, what);
  };
  add(step.wake, "wake", " of standby");
  add(step.keep_running, "keep", " of those that are made for standby running");
  add(step.create, "create", "");
  add(step.make_standby, "create", " for standby, paused as soon as they run");
  add(step.remove_unplaced, "remove", " that have no place yet");
  add(step.remove_pending, "remove", " that are pending");
  add(step.remove_ready, "remove", " that are ready, the newest first");
  add(step.pause_ready, "pause", " that are ready: standby has room");
  add(step.remove_standby, "remove", " of standby, the newest first");
  return text.empty() ? "  nothing to do\n" : text;
}

// Why it is not all that is wanted.
std::string burst_text(const PoolPlan& plan) {
  const auto& policy = plan.application.scaling;
  if (!policy.burst) return "";
  model::ScalingPolicy without = policy;
  without.burst.reset();
  const ScalingStep all =
      scaling_step(without, plan.application.sessions.per_instance, plan.pools,
                   surplus_of(policy, plan.application.sessions.per_instance, plan.pools));
  if (all == plan.step) return "";
  return fmt::format(
      "More would follow: a burst of {} allows no more being created or removed at once.\n",
      *policy.burst);
}

std::string text_of_plan(const PoolPlan& plan) {
  std::string text =
      fmt::format("{}: {}\n{}Wanted: {} pending or ready\n{}{}",
                  to_string(key_of(plan.application)), pools_text(plan.pools), why_text(plan),
                  plan.free.wanted, steps_text(plan.step), burst_text(plan));
  if (plan.step.remove_pending + plan.step.remove_ready + plan.step.pause_ready > 0) {
    text += fmt::format("Only what was too much for all of the last {} is removed or paused.\n",
                        codec::Scalar<Duration>::text(plan.application.scaling.cooldown));
  }
  return text;
}

}  // namespace

Result<PoolSizes> parse_pool(std::string_view text) {
  PoolSizes pools;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    TRY(set_size(pools, part));
  }
  return pools;
}

Result<ExitCode> plan_pool(const PoolPlanFlags& flags, Console& console) {
  const PoolSizes pools = TRY(parse_pool(flags.pool));
  const model::Application application = TRY(read_application(flags, console));
  const model::ScalingPolicy& policy = application.scaling;
  const std::uint32_t slots = application.sessions.per_instance;
  const PoolPlan plan{application, pools, free_instances(policy, slots, pools),
                      scaling_step(policy, slots, pools, surplus_of(policy, slots, pools))};
  if (flags.output == "json") {
    console.out << json_line(json_of_plan(plan));
  } else if (flags.output == "yaml") {
    console.out << yaml_text(json_of_plan(plan));
  } else {
    console.out << text_of_plan(plan);
  }
  return plan.step == ScalingStep{} ? ExitCode::Done : ExitCode::Changes;
}

}  // namespace berth::cli
