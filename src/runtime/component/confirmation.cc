#include "runtime/component/confirmation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/component/source.h"
#include "runtime/supervision/health_check.h"

namespace berth::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Duration kCheckTime = 5s;

Started<void> not_confirmed(std::string message) {
  return tl::unexpected(model::Problem{"NotConfirmed", std::move(message)});
}

Duration left_until(Clock::time_point until) {
  return std::max(std::chrono::duration_cast<Duration>(until - Clock::now()), Duration{});
}

Started<void> await_health(const model::HealthCheck& check, Duration timeout,
                           const TriedVersion& trial, Runtime& runtime) {
  const auto until = Clock::now() + timeout;
  const auto counted_from = Clock::now() + std::min(check.start_period, timeout);
  const std::uint32_t failures_max = std::max(check.failures, 1U);
  for (std::uint32_t failed = 0;;) {
    const HealthAnswer answer = check_health(check, {.key = trial.spec.key}, runtime,
                                             std::min(kCheckTime, left_until(until)));
    if (answer.healthy) return {};
    if (Clock::now() >= counted_from) ++failed;
    if (failed >= failures_max || Clock::now() >= until) return not_confirmed(answer.message);
    if (trial.interrupt.wait(std::min(check.period, left_until(until)))) {
      return not_confirmed("it was stopped before it had been confirmed");
    }
  }
}

Started<void> ask_program(const Confirmation& confirmation, const TriedVersion& trial) {
  std::vector<std::string> argv = confirmation.program;
  argv.push_back(trial.spec.runtime.value());
  argv.push_back(trial.spec.item.version);
  if (!trial.path.empty()) argv.push_back(trial.path);
  return run_tool(std::move(argv), "NotConfirmed", {confirmation.timeout, trial.interrupt});
}

}  // namespace

Started<void> await_confirmation(const Confirmation& confirmation, const TriedVersion& trial,
                                 Runtime& runtime) {
  const auto& health = trial.spec.item.health;
  if (health) return await_health(*health, confirmation.timeout, trial, runtime);
  if (confirmation.program.empty()) return {};
  return ask_program(confirmation, trial);
}

}  // namespace berth::runtime
