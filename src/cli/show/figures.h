#pragma once

#include <cstdint>
#include <string>

#include "base/quantity.h"
#include "cli/show/console.h"

// Amounts as people read them.
namespace berth::cli {

std::string human(Dmips amount);  // "300 DMIPS"
std::string human(Bytes amount);  // "128 MiB", "1.5 GiB"

// "1 error", "3 errors".
std::string counted(std::uint64_t count, std::string_view noun);

// The share of the whole in percent, rounded to the nearest; 0 of nothing.
std::int64_t percent_of(std::int64_t part, std::int64_t whole);

// A bar of which so many cells are filled.
std::string bar_of(std::size_t filled, std::size_t cells, const Style& style);

// A bar of ten cells. Something is never drawn as nothing.
std::string bar(std::int64_t part, std::int64_t whole, const Style& style);

}  // namespace berth::cli
