#include "codec/json_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "codec/text.h"

namespace berth::codec {
namespace {

constexpr int kDepthMax = 64;

bool is_json_digit(char c) { return c >= '0' && c <= '9'; }
bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool ends_plain_text(char c) {
  return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xC0 | point >> 6);
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3F));
  } else {
    add(0xF0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3F));
    add(0x80 | (point >> 6 & 0x3F));
  }
  add(0x80 | (point & 0x3F));
}

// RFC 8259, strictly. A record of the store is one such text, and a start of the control plane
// reads all of them: it goes once over the bytes, and makes nothing but the tree. Each function
// says whether what it is about was there; if not, `at_` is where it stopped.
class JsonParser {
 public:
  explicit JsonParser(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  Result<Tree> parse() {
    Tree root;
    if (!value(root, 0) || !has_ended()) return Error{Code::Damaged, problem()};
    return root;
  }

 private:
  bool has_ended() {
    skip_space();
    return at_ == end_;
  }

  std::string problem() const {
    if (too_deep_) return "nested too deeply";
    return fmt::format("not JSON, at byte {}", at_ - begin_ + 1);
  }

  void skip_space() {
    while (at_ != end_ && is_json_space(*at_)) ++at_;
  }
  bool is_next(char c) const { return at_ != end_ && *at_ == c; }
  bool take(char c) {
    if (!is_next(c)) return false;
    ++at_;
    return true;
  }

  bool value(Tree& tree, int depth) {
    skip_space();
    if (at_ == end_) return false;
    switch (*at_) {
      case '{': return open(depth) && map(tree, depth + 1);
      case '[': return open(depth) && list(tree, depth + 1);
      case '"': tree.quoted = true; return string(tree.text);
      case 't': return word("true", tree.text);
      case 'f': return word("false", tree.text);
      case 'n': return word("null", tree.text);
      default: return number(tree.text);
    }
  }

  bool open(int depth) {
    too_deep_ = depth == kDepthMax;
    if (!too_deep_) ++at_;
    return !too_deep_;
  }

  bool map(Tree& tree, int depth) {
    tree.kind = Tree::Kind::Map;
    skip_space();
    if (take('}')) return true;
    do {
      skip_space();
      if (!is_next('"') || !string(tree.keys.emplace_back().text)) return false;
      skip_space();
      if (!take(':') || !value(tree.children.emplace_back(), depth)) return false;
      skip_space();
    } while (take(','));
    return take('}');
  }

  bool list(Tree& tree, int depth) {
    tree.kind = Tree::Kind::List;
    skip_space();
    if (take(']')) return true;
    do {
      if (!value(tree.children.emplace_back(), depth)) return false;
      skip_space();
    } while (take(','));
    return take(']');
  }

  bool word(std::string_view expected, std::string& text) {
    for (const char c : expected) {
      if (!take(c)) return false;
    }
    text = expected;
    return true;
  }

  bool digits() {
    if (at_ == end_ || !is_json_digit(*at_)) return false;
    while (at_ != end_ && is_json_digit(*at_)) ++at_;
    return true;
  }

  bool number(std::string& text) {
    const char* from = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    text.assign(from, at_);
    return true;
  }

  bool string(std::string& text) {
    ++at_;  // the quote
    while (true) {
      const char* from = at_;
      unsigned char all_bits = 0;
      for (; at_ != end_ && !ends_plain_text(*at_); ++at_) {
        all_bits |= static_cast<unsigned char>(*at_);
      }
      if (all_bits >= 0x80 && !is_utf8(from)) return false;
      text.append(from, at_);
      if (take('"')) return true;
      if (!take('\\') || !escape(text)) return false;
    }
  }

  bool is_utf8(const char* from) {
    const char* valid = from + valid_utf8_prefix(std::string_view(from, at_));
    return std::exchange(at_, valid) == valid;
  }

  bool escape(std::string& text) {
    if (at_ == end_) return false;
    if (take('u')) return escaped_point(text);
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    const auto which = kNames.find(*at_);
    if (which == std::string_view::npos) return false;
    ++at_;
    text += kMeant[which];
    return true;
  }

  // Beyond the basic plane it takes two halves.
  bool escaped_point(std::string& text) {
    const auto first = four_digits();
    if (!first || is_low_half(*first)) return false;
    if (!is_high_half(*first)) {
      append_utf8(text, *first);
      return true;
    }
    if (!take('\\') || !take('u')) return false;
    const auto second = four_digits();
    if (!second || !is_low_half(*second)) return false;
    append_utf8(text, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
    return true;
  }
  static bool is_high_half(std::uint32_t point) { return point >= 0xD800 && point < 0xDC00; }
  static bool is_low_half(std::uint32_t point) { return point >= 0xDC00 && point < 0xE000; }

  std::optional<std::uint32_t> four_digits() {
    std::uint32_t point = 0;
    if (end_ - at_ < 4) return std::nullopt;
    const auto [stop, error] = std::from_chars(at_, at_ + 4, point, 16);
    if (error != std::errc{} || stop != at_ + 4) return std::nullopt;
    at_ += 4;
    return point;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  bool too_deep_ = false;
};

}  // namespace

Result<Tree> read_json(std::string_view text) { return JsonParser(text).parse(); }

}  // namespace berth::codec
