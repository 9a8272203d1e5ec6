#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "cli/exit_code.h"
#include "cli/show/console.h"

namespace CLI {
class App;
}  // namespace CLI

// A verb of the command line is one file that defines a Verb, and its line in verbs.cc.
namespace berth::cli {

// What happens once the flags are parsed. An error is printed by the caller, and ends the program
// with the exit code that belongs to it.
using Command = std::function<Result<ExitCode>(Console&)>;

struct Verb {
  const char* name;
  const char* what;                    // one line for the list of verbs
  Command (*declare)(CLI::App& verb);  // adds flags and examples
  bool hidden = false;                 // for programs, not for people: --help is silent about it
};

extern const Verb apply_verb;
extern const Verb plan_verb;
extern const Verb why_verb;
extern const Verb simulate_verb;
extern const Verb get_verb;
extern const Verb describe_verb;
extern const Verb delete_verb;
extern const Verb logs_verb;
extern const Verb exec_verb;
extern const Verb top_verb;
extern const Verb events_verb;
extern const Verb wait_verb;
extern const Verb rebalance_verb;
extern const Verb drain_verb;
extern const Verb cordon_verb;
extern const Verb uncordon_verb;
extern const Verb forget_verb;
extern const Verb session_verb;
extern const Verb pause_verb;
extern const Verb resume_verb;
extern const Verb join_token_verb;
extern const Verb login_verb;
extern const Verb store_verb;
extern const Verb schema_verb;
extern const Verb completion_verb;
extern const Verb version_verb;
extern const Verb complete_verb;
extern const Verb man_verb;

// All verbs in the order in which --help lists them.
std::span<const Verb* const> verbs();

}  // namespace berth::cli
