#include "cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/suggest.h"
#include "codec/scalar.h"

namespace berth::cli {
namespace {

// The name of a choice's type is its words with bars between: help shows it, and completions read
// the words from it.
std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') == std::string::npos) return {};
  return CLI::detail::split(type, '|');
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

CLI::Option* add_choice(CLI::App& verb, const std::string& names, std::string& value,
                        const std::vector<std::string>& words, const std::string& what) {
  const auto must_be_a_word = [words](const std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    return fmt::format("\"{}\" is none of {}.{}", text, fmt::join(words, ", "),
                       did_you_mean(text, words));
  };
  return verb.add_option(names, value, what)
      ->type_name(fmt::format("{}", fmt::join(words, "|")))
      ->check(CLI::Validator(must_be_a_word, "", ""))
      ->take_last();
}

CLI::Option* add_output_flag(CLI::App& verb, std::string& output) {
  return add_choice(verb, "-o,--output", output, {"table", "wide", "json", "yaml", "name"},
                    "Form of the answer")
      ->envname("BERTH_OUTPUT");
}

CLI::Option* add_duration(CLI::App& verb, const std::string& names, std::optional<Duration>& value,
                          const std::string& what) {
  const auto take = [&value](const std::string& text) {
    const auto parsed = codec::Scalar<Duration>::parse(text);
    if (!parsed) throw CLI::ValidationError(parsed.error().message);
    value = *parsed;
  };
  return verb.add_option_function<std::string>(names, take, what)
      ->type_name("DURATION")
      ->take_last();
}

std::vector<Flag> flags_of(const CLI::App& verb) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->nonpositional()) continue;
    flags.push_back({.names = names_of(*option),
                     .what = option->get_description(),
                     .words = words_of(*option),
                     .takes_value = option->get_expected_min() > 0 && option->get_type_size() > 0,
                     .value = option->get_type_name(),
                     .variable = option->get_envname()});
  }
  return flags;
}

std::vector<std::string> positional_words_of(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional()) return words_of(*option);
  }
  return {};
}

}  // namespace berth::cli
