#pragma once

#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace berth::cli {

// The manual page of the program or of a verb, as roff for man(7): what --help says.
std::string man_page(const CLI::App& app);

}  // namespace berth::cli
