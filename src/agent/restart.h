#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/instance.h"
#include "model/item.h"
#include "model/protocol.h"

// What happens after a run of a wanted instance has ended: done for good, or tried again, and when.
namespace berth::agent {

enum class Cause {
  Exited,
  Vanished,     // its runtime no longer lists it; how it ended is not known
  StartFailed,  // the runtime said so
  Unanswered,   // the runtime did not say whether it started, so it was stopped
  Unhealthy,    // it failed its health checks, so it was stopped
};

struct Ending {
  model::CommandNumber generation{};  // what the run was for
  Cause cause = Cause::Exited;
  std::optional<std::int32_t> exit_code{};
  std::string reason{};  // the runtime's own token, if it has one
  std::string detail{};
  model::Hindrance hindrance = model::Hindrance::None;
  std::optional<Time> active_since{};  // nullopt: it never was
};

// One CamelCase token and a sentence, as statuses show them.
model::Problem problem_of(const Ending& ending);

// Whether the instance did what it was for.
bool is_success(const Ending& ending);

// Whether the policy says that the instance is not to run again. What was never started, as far as
// anybody knows, has not run, so it is always tried again.
bool is_final(model::RestartMode mode, const Ending& ending);

// Counts the restarts in a row, to wait longer before each: the n-th waits backoff * 2^n, at most
// backoff_max. Having been active for backoff_max ends the row.
class Backoff {
 public:
  // `active_since`: of what has ended; nullopt: it never was.
  Duration next_wait(const model::RestartPolicy& policy, std::optional<Time> active_since,
                     Time now);

 private:
  std::uint32_t in_a_row_ = 0;
};

// "4s", "1500ms": how durations are written in messages.
std::string to_text(Duration duration);

}  // namespace berth::agent
