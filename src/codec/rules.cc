#include "codec/rules.h"

#include <algorithm>

namespace berth::codec {
namespace {

constexpr Duration kDurationMax = 87'600h;

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool consists_of(std::string_view text, std::string_view signs) {
  return std::ranges::all_of(
      text, [&](char c) { return is_letter_or_digit(c) || signs.find(c) != signs.npos; });
}

// C0, DEL and, in UTF-8, C1.
bool has_control_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) return true;
    if (c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      return true;
    }
  }
  return false;
}

Flaw flaw_of_length(std::string_view text, std::size_t length_max) {
  if (text.empty()) return "must not be empty";
  if (text.size() > length_max) return fmt::format("is longer than {} bytes", length_max);
  return std::nullopt;
}

}  // namespace

Flaw flaw_of(std::string_view text, Name) {
  if (const Flaw flaw = flaw_of_length(text, Name::kLengthMax)) return flaw;
  if (is_letter_or_digit(text.front()) && consists_of(text, "._-")) return std::nullopt;
  return in_quotes(text) +
         " is no name: letters, digits, '.', '_' and '-', beginning with a letter or digit";
}

Flaw flaw_of(std::string_view text, Version) {
  if (const Flaw flaw = flaw_of_length(text, Version::kLengthMax)) return flaw;
  if (consists_of(text, "._+~:-")) return std::nullopt;
  return in_quotes(text) + " is no version: letters, digits and '.', '_', '+', '~', ':', '-'";
}

Flaw flaw_of(std::string_view text, Label) {
  if (const Flaw flaw = flaw_of_length(text, Label::kLengthMax)) return flaw;
  if (has_control_characters(text)) return in_quotes(text) + " has control characters";
  return std::nullopt;
}

Flaw flaw_of(std::string_view text, VariableName) {
  if (const Flaw flaw = flaw_of(text, Label{})) return flaw;
  if (text.find('=') != text.npos)
    return in_quotes(text) + " is no name of a variable: it has a '='";
  return std::nullopt;
}

Flaw flaw_of(std::string_view, const NoNamespace& rule) {
  return fmt::format("must be left out: {} documents belong to no namespace, only applications do",
                     rule.kind);
}

Flaw flaw_of(const Duration& value, Positive) {
  return value.count() > 0 ? std::nullopt : Flaw("must be more than 0s");
}

// No program can be given such a text, as an argument, a path or a variable.
Flaw standing_flaw_of(const std::string& text) {
  return text.find('\0') == text.npos ? std::nullopt : Flaw("has a NUL character");
}

Flaw standing_flaw_of(const Duration& value) {
  if (value <= kDurationMax) return std::nullopt;
  return fmt::format("is longer than {}", Scalar<Duration>::text(kDurationMax));
}

Flaw standing_flaw_of(const model::Port& value) {
  return value.number > 0 ? std::nullopt : Flaw("ports begin at 1");
}

Flaw standing_flaw_of(const model::AllowedConnection& value) {
  const Flaw flaw = standing_flaw_of(value.item);
  return flaw ? flaw : standing_flaw_of(value.port);
}

}  // namespace berth::codec
