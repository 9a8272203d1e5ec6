#pragma once

#include <string>

#include "cli/show/console.h"

namespace CLI {
class App;
}  // namespace CLI

namespace berth::cli {

// What --help prints of the program or of one verb: what it does, how it is called, its verbs,
// flags with their environment variables, and its footer.
std::string help_of(const CLI::App& app, const Style& style);

// "berth get KIND [FLAGS]".
std::string usage_of(const CLI::App& app);

}  // namespace berth::cli
