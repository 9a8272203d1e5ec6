#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The flags of verbs: how they are declared, and what they look like to completions and
// suggestions.
namespace berth::cli {

// A flag that takes one of a few words; a wrong one is an error that lists them. The last one
// given counts.
CLI::Option* add_choice(CLI::App& verb, const std::string& names, std::string& value,
                        const std::vector<std::string>& words, const std::string& what);

// -o, with every form that answers have.
CLI::Option* add_output_flag(CLI::App& verb, std::string& output);

// A flag that takes a time as people write it: "30s", "10m".
CLI::Option* add_duration(CLI::App& verb, const std::string& names, std::optional<Duration>& value,
                          const std::string& what);

struct Flag {
  std::vector<std::string> names;  // "-o", "--output"
  std::string what;
  std::vector<std::string> words;  // of a choice
  bool takes_value = false;
  std::string value;     // what its value is called: "FILE", "table|json"
  std::string variable;  // of the environment; empty: none
};

std::vector<Flag> flags_of(const CLI::App& verb);

// The words that a verb's positional argument may be, if they are few.
std::vector<std::string> positional_words_of(const CLI::App& verb);

}  // namespace berth::cli
