#pragma once

#include "cli/ask/connection.h"
#include "cli/exit_code.h"
#include "cli/show/console.h"

// The ways out of a hold: a control plane whose store has lost what its agents can show waits for
// one of these.
namespace berth::cli {

// Its store is the truth from now on.
Result<ExitCode> accept_store(const ConnectionFlags& connection, Console& console);

enum class Adopting { Preview, Now };

// What its agents run and were told is asked for from now on.
Result<ExitCode> adopt_store(const ConnectionFlags& connection, Adopting adopting,
                             Console& console);

}  // namespace berth::cli
