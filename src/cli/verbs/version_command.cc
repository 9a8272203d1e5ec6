#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/verbs/verb.h"

namespace berth::cli {
namespace {

Command declare_version(CLI::App& verb) {
  verb.footer("Examples:\n  berth version");
  return [](Console& console) -> Result<ExitCode> {
    console.out << "berth " BERTH_VERSION "\n";
    return ExitCode::Done;
  };
}

}  // namespace

const Verb version_verb{"version", "Print the version of this program", declare_version};

}  // namespace berth::cli
