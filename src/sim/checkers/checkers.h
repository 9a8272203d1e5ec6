#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/checker.h"

// The invariants of a unit, one per file; `all_checkers` is their list.
namespace berth::sim {

using CheckerPtr = std::unique_ptr<Checker>;

// What is decided for a node, and what it is commanded to run, fits into what it has.
CheckerPtr capacity_checker(const World& world, Violate violate);
// A uid, a gid and a unit of a shared resource have one holder, an instance one place.
CheckerPtr single_owner_checker(const World& world, Violate violate);
// An address has one holder, who keeps it while it lives; nothing is started without its network,
// and at rest every node has exactly the networks that what is placed makes necessary.
CheckerPtr network_checker(const World& world, Violate violate);
// An instance runs at most once on reachable nodes, beyond the hand-over.
CheckerPtr single_copy_checker(const World& world, Violate violate);
// What is loaded after a crash is what was in memory at the last durable step.
CheckerPtr durable_checker(const World& world, Violate violate);
// What is shown as active runs, where and as it is shown.
CheckerPtr status_truth_checker(const World& world, Violate violate);
// Once faults have stopped all is as desired, and then nothing happens any more.
CheckerPtr convergence_checker(const World& world, Violate violate);
// Nothing waits for a place while there is one.
CheckerPtr waiting_checker(const World& world, Violate violate);
// No run that is healthy and still wanted is stopped.
CheckerPtr needless_stop_checker(const World& world, Violate violate);
// Every call is answered, and an accepted apply is finished in time, with everything proven.
CheckerPtr answer_checker(const World& world, Violate violate);
// What was kept of a state goes with its instance.
CheckerPtr state_checker(const World& world, Violate violate);
// Nothing is placed on a runtime that is not Ready, or on a node that is not; conditions change no
// more often than what they tell of, and at rest they tell the truth.
CheckerPtr readiness_checker(const World& world, Violate violate);

// A control plane that has lost its store orders nothing.
CheckerPtr hold_checker(const World& world, Violate violate);

// Who is told that a session is available reaches an instance that serves it.
CheckerPtr session_truth_checker(const World& world, Violate violate);
// No two sessions are reached at one address and port.
CheckerPtr session_port_checker(const World& world, Violate violate);
// Sessions of an application are served in the order in which they were asked for.
CheckerPtr session_order_checker(const World& world, Violate violate);
// Who asks for a session is answered by the deadline.
CheckerPtr session_answer_checker(const World& world, Violate violate);
// No number of a pool instance is used twice.
CheckerPtr pool_number_checker(const World& world, Violate violate);

std::vector<CheckerPtr> all_checkers(const World& world, const Violate& violate);

// What keeps the world from being as desired; empty = converged.
std::vector<std::string> unsettled(const World& world);
// The same of pools and sessions, as far as it is not said by `unsettled`, which has it.
// REQUIRES: there is a controller.
std::vector<std::string> unsettled_pools(const World& world);

}  // namespace berth::sim
