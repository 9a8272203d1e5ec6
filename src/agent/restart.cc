#include "agent/restart.h"

#include <algorithm>

#include "base/alarms.h"

namespace berth::agent {
namespace {

std::string with_detail(std::string sentence, const std::string& detail) {
  return detail.empty() ? sentence : std::move(sentence) + ": " + detail;
}

std::string exit_sentence(const Ending& ending) {
  return ending.exit_code ? "exited with code " + std::to_string(*ending.exit_code)
                          : "exited, nobody knows how";
}

// What the runtime calls it, else what we do.
model::Problem named(const Ending& ending, const char* reason, std::string sentence) {
  return {ending.reason.empty() ? reason : ending.reason,
          with_detail(std::move(sentence), ending.detail), ending.hindrance};
}

}  // namespace

model::Problem problem_of(const Ending& ending) {
  switch (ending.cause) {
    case Cause::Exited: return named(ending, "Exited", exit_sentence(ending));
    case Cause::Vanished: return {"Exited", "no longer listed by its runtime"};
    case Cause::StartFailed: return named(ending, "StartFailed", "start failed");
    case Cause::Unanswered:
      return {"StartFailed", with_detail("start was not answered", ending.detail)};
    case Cause::Unhealthy: return {"Unhealthy", with_detail("health checks failed", ending.detail)};
  }
  return {};
}

bool is_success(const Ending& ending) {
  return ending.cause == Cause::Exited && ending.exit_code == 0;
}

bool is_final(model::RestartMode mode, const Ending& ending) {
  switch (mode) {
    case model::RestartMode::Always: return false;
    case model::RestartMode::OnFailure: return is_success(ending);
    case model::RestartMode::Never: return ending.cause != Cause::Unanswered;
  }
  return false;
}

Duration Backoff::next_wait(const model::RestartPolicy& policy, std::optional<Time> active_since,
                            Time now) {
  const Duration longest = bounded(policy.backoff_max);
  if (active_since && now - *active_since >= longest) in_a_row_ = 0;
  Duration wait = std::min(bounded(policy.backoff), longest);
  // A wait of nothing cannot grow, and one at its longest need not.
  for (std::uint32_t n = 0; n < in_a_row_ && wait > Duration::zero() && wait < longest; ++n) {
    wait = std::min(wait * 2, longest);
  }
  ++in_a_row_;
  return wait;
}

std::string to_text(Duration duration) {
  if (duration % 1s == Duration::zero()) return std::to_string(duration / 1s) + "s";
  if (duration % 1ms == Duration::zero()) return std::to_string(duration / 1ms) + "ms";
  return std::to_string(duration.count()) + "us";
}

}  // namespace berth::agent
