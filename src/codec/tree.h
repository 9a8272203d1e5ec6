#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What a YAML or JSON text says, before anybody asks what it means: every value with its place in
// the text. Readers of texts make trees, codec/reader.h makes structs of them.
namespace berth::codec {

// Counted from 1, as editors and compilers do; columns in characters.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Tree {
  enum class Kind { Scalar, List, Map };
  struct Key {
    std::string text;
    Position at;
  };

  Kind kind = Kind::Scalar;
  bool quoted = false;  // of a scalar: surely text, never a number or a null
  Position at;
  std::string text;       // of a scalar
  std::vector<Key> keys;  // of a map: keys[i] names children[i]
  std::vector<Tree> children;
};

// Nothing, `~` or `null`.
bool is_null(const Tree& tree);

// What a message calls it: "text", "a list", "a map", "nothing".
std::string_view what_is(const Tree& tree);

// Where "spec.run[0].item" is; the nearest ancestor that exists if it does not.
Position locate(const Tree& tree, std::string_view path);

}  // namespace berth::codec
