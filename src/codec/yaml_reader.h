#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/tree.h"

// The border to libyaml.
namespace berth::codec {

// What one file may cost, however cleverly it is written. An alias counts as all that it stands
// for.
struct YamlLimits {
  std::size_t bytes = 16u << 20;
  std::size_t depth = 64;
  std::size_t nodes = 2'000'000;
};

struct SyntaxProblem {
  Position at;
  std::string what;
};

struct YamlFile {
  std::vector<Tree> documents;           // those before the problem, if there is one
  std::optional<SyntaxProblem> problem;  // reading ends at the first
};

// Never throws. JSON is YAML too.
// Says of a program, an archive or another encoding that it cannot be YAML, and from where on.
std::optional<SyntaxProblem> why_no_text(std::string_view text);

YamlFile read_yaml(std::string_view text, const YamlLimits& limits = {});

}  // namespace berth::codec
