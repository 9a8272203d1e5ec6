#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Texts for people whose terminal is narrower than the text.
namespace berth::cli {

std::vector<std::string_view> lines_of(std::string_view text);

// Broken at spaces, else after a comma or slash, else anywhere; never empty.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

// Not wider than that: the rest becomes a mark. REQUIRES: columns > 0.
std::string shortened(std::string_view text, std::size_t columns, bool unicode);

// A text whose lines were broken by hand, such as the end of a help: paragraphs are filled again,
// what stands in a second column hangs below itself, and commands go on after a backslash. Nothing
// changes where everything fits. No columns: there is room for everything.
std::string refilled(std::string_view text, std::size_t columns);

}  // namespace berth::cli
