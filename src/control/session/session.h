#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "control/events.h"
#include "model/pool.h"

namespace berth::control {

// A session as the control plane knows it: from the call that asked for it until it was over for a
// while. While an instance serves it, its agent has the clocks and the truth.
struct Session {
  model::SessionSpec spec;  // `instance` and `ports`: once it has them
  model::ApplicationKey application;
  model::SessionState state = model::SessionState::Pending;
  model::Problem reason;
  std::uint32_t clients = 0;
  bool is_named = true;         // else it is called like its instance, once it has one
  std::vector<CallId> opening;  // callers who wait for it to be available
  std::vector<CallId> closing;  // callers who wait for it to be over
  Time deadline;                // while it is Pending or Starting
  Time created;
  std::optional<Time> available;
  std::optional<Time> ended;
  Duration keep_finished{};
  bool was_available = false;       // in some incarnation: who opened it has been told of it
  std::uint32_t failed_before = 0;  // incarnations in a row that were never available
  // Where clients come if the gateway is another node than its instance's; empty: to spec.ports.
  std::vector<model::SessionPort> outside;
  // What its agent says, while the gateway does not forward yet.
  std::optional<model::SessionState> served_as;

  bool is_over() const { return model::is_over(state); }
  bool is_opening() const { return state <= model::SessionState::Starting; }
};

}  // namespace berth::control
