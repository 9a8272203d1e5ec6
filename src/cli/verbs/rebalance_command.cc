#include <CLI/CLI.hpp>
#include <memory>

#include "cli/ask/change.h"
#include "cli/ask/connection.h"
#include "cli/verbs/verb.h"

// `berth rebalance`: relieves overloaded nodes now, without waiting for the thresholds' next turn.
namespace berth::cli {
namespace {

constexpr const char* kRebalanceExamples =
    "Examples:\n"
    "  berth plan --rebalance                what would move, and why\n"
    "  berth rebalance                       move as few as possible away from overloaded nodes\n"
    "  berth rebalance --full                place everything that may move anew\n"
    "  berth rebalance --no-wait -o json\n"
    "\n"
    "One rebalance runs at a time; a later one waits for its turn. Ctrl-C is safe: what was\n"
    "accepted goes on.\n"
    "Exit codes: 0 done, and all that has moved is well, 1 something failed, 2 an overloaded node\n"
    "cannot be relieved, or something is on a node that is away, 5 timeout, 6 cannot reach the\n"
    "control plane, 130 interrupted.";

// Until it is its turn nothing is said.
constexpr Duration kTurnComesWithin = 24h;

struct RebalanceFlags {
  ConnectionFlags connection;
  bool full = false;
  ChangeFlags change;
};

Result<ExitCode> run(const RebalanceFlags& flags, Console& console) {
  v1::RebalanceRequest request;
  request.set_full(flags.full);
  request.set_wait(!flags.change.no_wait);
  const client::Client client =
      TRY(connect(flags.connection, {.answer_timeout = kTurnComesWithin}));
  return run_change(client,
                    {.method = client::Method::Post, .path = "/v1/rebalance", .body = &request},
                    flags.change, console);
}

Command declare_rebalance(CLI::App& verb) {
  const auto flags = std::make_shared<RebalanceFlags>();
  flags->change.when_nothing_changes = "Nothing moves.";
  verb.add_flag("--full", flags->full, "Re-evaluate everything that may move")
      ->envname("BERTH_FULL");
  declare_change_flags(verb, flags->change);
  declare_connection_flags(verb, flags->connection);
  verb.footer(kRebalanceExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb rebalance_verb{"rebalance", "Relieve overloaded nodes with as few moves as possible",
                          declare_rebalance};

}  // namespace berth::cli
