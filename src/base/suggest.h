#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Guesses what somebody meant who mistyped a word.
namespace berth {

// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other;
// upper and lower case count as the same letter.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known word nearest to the typed one, the first of equals; nullopt if none is near enough to
// be meant.
std::optional<std::string_view> nearest(std::string_view typed,
                                        std::span<const std::string_view> known);

// ` Did you mean "word"?`, or nothing: to be appended to a message.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known);
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known);

}  // namespace berth
