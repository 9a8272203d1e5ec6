#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/show/console.h"
#include "client/client.h"

namespace CLI {
class App;
}  // namespace CLI

// What the verbs have in common that change where things run, and show how that becomes true.
namespace berth::cli {

struct ChangeFlags {
  bool no_wait = false;
  std::optional<Duration> timeout;
  std::string output = "table";
  const char* when_nothing_changes = nullptr;  // what to say then instead of a count of instances
  std::vector<std::string> asked_for = {};     // "deployment/base": whom it is about
};

void declare_change_flags(CLI::App& verb, ChangeFlags& flags);

// Makes a call that answers with apply events, and shows what they tell until all is in its final
// state.
Result<ExitCode> run_change(const client::Client& client, const client::Request& request,
                            const ChangeFlags& flags, Console& console);

}  // namespace berth::cli
