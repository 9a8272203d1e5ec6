#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/scalar.h"

// What a value must be beyond its type. Descriptions name rules beside fields; the reader of
// manifests enforces them and the schema states them. Records are our own and are not asked.
namespace berth::codec {

struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
inline constexpr Range kPercent{0, 100};
inline constexpr Range kPriority{-(1LL << 31), (1LL << 31) - 1};
inline constexpr Range kPortNumber{1, 65535};
inline constexpr Range kVxlanId{1, (1 << 24) - 1};
inline constexpr Range kDmips{0, 1'000'000'000'000};
inline constexpr Range kBytes{0, 1LL << 50};

struct NonEmpty {};  // a text or a list
struct Positive {};  // a duration longer than nothing
struct Unique {};    // a list without repetition

// Each element of a list, or each key of a map.
template <class Rule>
struct Each {
  Rule rule;
};
template <class Rule>
Each(Rule) -> Each<Rule>;

// Texts of a certain make. `kPattern` is for the schema and says the same as the function.
struct Name {
  static constexpr std::string_view kPattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
  static constexpr std::size_t kLengthMax = 253;
};
struct Version {
  static constexpr std::string_view kPattern = "^[A-Za-z0-9._+~:-]+$";
  static constexpr std::size_t kLengthMax = 128;
};
struct Label {
  static constexpr std::string_view kPattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";
  static constexpr std::size_t kLengthMax = 253;
};
struct VariableName {
  static constexpr std::string_view kPattern = "^[^=\\u0000-\\u001f\\u007f-\\u009f]+$";
  static constexpr std::size_t kLengthMax = 253;
};

// Of a kind whose documents belong to none.
struct NoNamespace {
  std::string_view kind;
};

using Flaw = std::optional<std::string>;  // what is wrong with a value

Flaw flaw_of(std::string_view text, Name);
Flaw flaw_of(std::string_view text, Version);
Flaw flaw_of(std::string_view text, Label);
Flaw flaw_of(std::string_view text, VariableName);
Flaw flaw_of(std::string_view text, const NoNamespace& rule);
Flaw flaw_of(const Duration& value, Positive);

// Ids are names anyway, see below.
template <class Tag>
Flaw flaw_of(const Id<Tag>&, Name) {
  return std::nullopt;
}

template <class TextOrList>
Flaw flaw_of(const TextOrList& value, NonEmpty) {
  return value.empty() ? Flaw("must not be empty") : std::nullopt;
}

// What holds for every value of a type.
template <class T>
Flaw standing_flaw_of(const T&) {
  return std::nullopt;
}
template <class Tag>
Flaw standing_flaw_of(const Id<Tag>& id) {
  return flaw_of(id.value(), Name{});
}
Flaw standing_flaw_of(const std::string& text);
Flaw standing_flaw_of(const Duration& value);
Flaw standing_flaw_of(const model::Port& value);
Flaw standing_flaw_of(const model::AllowedConnection& value);

}  // namespace berth::codec
