#include "codec/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace berth::codec {
namespace {

constexpr std::size_t kGlance = 64;

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

std::size_t length_of_sequence(std::uint32_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

bool is_canonical(std::uint32_t code, std::size_t bytes) {
  if (bytes == 3) return code >= 0x800 && (code < 0xD800 || code > 0xDFFF);
  return bytes != 4 || (code >= 0x10000 && code <= 0x10FFFF);
}

Character first_character(std::string_view text) {
  const std::uint32_t lead = byte_at(text, 0);
  const std::size_t bytes = length_of_sequence(lead);
  if (bytes == 0 || bytes > text.size()) return {};
  if (bytes == 1) return {lead, 1};
  std::uint32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte_at(text, i) & 0x3F);
  }
  return is_canonical(code, bytes) ? Character{code, bytes} : Character{};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// YAML takes the line separators for line breaks and the others for no characters at all.
bool must_be_escaped(std::uint32_t code) {
  return is_control(code) || code == '"' || code == '\\' || code == 0x2028 || code == 0x2029 ||
         code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

// Nearly all that is ever written: what can be copied without a look at what it means.
std::size_t plain_prefix(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; };
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
}

void append_escaped(std::string& out, std::uint32_t code) {
  switch (code) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    default: fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  }
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = first_character(text.substr(at)).bytes;
    if (bytes == 0) break;
    at += bytes;
  }
  return at;
}

std::string in_quotes(std::string_view text) {
  const bool is_long = text.size() > kGlance;
  if (is_long) text = text.substr(0, valid_utf8_prefix(text.substr(0, kGlance)));
  std::string out;
  append_json_string(out, text);
  if (is_long) out.insert(out.size() - 1, "...");
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (true) {
    const std::size_t plain = plain_prefix(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character c = first_character(text);
    if (c.bytes == 0) {
      out += "\xEF\xBF\xBD";
    } else if (must_be_escaped(c.code)) {
      append_escaped(out, c.code);
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
  }
  out += '"';
}

}  // namespace berth::codec
