#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"

// Enumerations and the words that people write for them. One table per enumeration serves parsing,
// printing, the JSON Schema and the suggestions in error messages.
namespace berth::model {

// Specialised as `static constexpr std::array kTable{std::pair{Enum::Value, "word"}, ...}` and
// `static constexpr std::string_view kWhat = "runtime type"`.
template <class Enum>
struct Names;

template <class Enum>
concept Named = requires {
  Names<Enum>::kTable;
};

template <Named Enum>
constexpr std::string_view to_string(Enum value) {
  for (const auto& [candidate, word] : Names<Enum>::kTable) {
    if (candidate == value) return word;
  }
  CHECK(false, "an enumerator without a name");
}

template <Named Enum>
constexpr std::optional<Enum> from_string(std::string_view text) {
  for (const auto& [value, word] : Names<Enum>::kTable) {
    if (word == text) return value;
  }
  return std::nullopt;
}

template <class Enum>
using Word = std::pair<Enum, std::string_view>;

}  // namespace berth::model
