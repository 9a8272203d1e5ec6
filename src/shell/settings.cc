#include "shell/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/suggest.h"
#include "codec/scalar.h"
#include "codec/text.h"
#include "codec/yaml_reader.h"

namespace berth::shell {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = 1u << 20;
constexpr char kAnyWord[] = "NAME";  // in the help

// "dmips.perCore" as "dmips-per-core".
std::string flag_of(std::string_view name) {
  std::string flag;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) flag += '-';
    flag += c == '.' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return flag;
}

bool is_family(const Setting& setting) { return setting.name.find('*') != std::string::npos; }

std::string with_word(std::string text, std::string_view word) {
  const auto star = text.find('*');
  return star == std::string::npos ? text : text.replace(star, 1, word);
}

// What stands in place of the "*"; nullopt: it is none of that family.
std::optional<std::string_view> word_in(std::string_view text, std::string_view family) {
  const auto star = family.find('*');
  if (star == std::string_view::npos) return std::nullopt;
  const std::string_view before = family.substr(0, star);
  const std::string_view after = family.substr(star + 1);
  const bool fits = text.size() > before.size() + after.size() && text.starts_with(before) &&
                    text.ends_with(after);
  if (!fits) return std::nullopt;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

// The second word of "runtime.mine.type".
std::string_view second_word(std::string_view name) {
  const auto first = name.find('.');
  if (first == std::string_view::npos) return "";
  return name.substr(first + 1, name.find('.', first + 1) - first - 1);
}

std::string in_capitals(std::string_view text) {
  std::string capitals;
  for (const char c : text) {
    capitals += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return capitals;
}

std::string variable_of(std::string_view program, std::string_view name) {
  return in_capitals(program) + "_" + in_capitals(flag_of(name));
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

bool is_truth(std::string_view text) { return text == "true" || text == "false"; }

Result<std::string> read_whole(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return not_found(path.string() + ": cannot be read");
  std::string text(kFileBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return Error{Code::Unavailable, path.string() + ": cannot be read"};
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kFileBytesMax) return invalid_input(path.string() + ": larger than 1 MiB");
  return text;
}

struct Said {
  std::string text;
  std::string origin;
};

// Gathers what is said, weakest first, and everything that is wrong with it.
class Loading {
 public:
  Loading(std::string_view program, const std::vector<Setting>& known)
      : program_(program), known_(known) {
    for (const Setting& setting : known_) {
      if (is_family(setting)) continue;
      const bool is_new = said_.emplace(setting.name, Said{setting.value, setting.origin}).second;
      CHECK(is_new, "a setting has one description");
    }
  }

  void read_files(const std::optional<std::string>& chosen) {
    const fs::path main =
        chosen ? fs::path(*chosen) : fs::path("/etc/berth") / (std::string(program_) + ".yaml");
    std::error_code unused;
    if (chosen || fs::exists(main, unused)) read_file(main);
    fs::path beside = main;
    beside.replace_extension(".d");
    for (const fs::path& part : yaml_files_of(beside)) read_file(part);
  }

  void read_environment() {
    for (const Setting& setting : known_) {
      if (is_family(setting)) continue;
      const std::string variable = variable_of(program_, setting.name);
      if (const char* value = std::getenv(variable.c_str())) {
        say({&setting, setting.name}, value, "environment " + variable);
      }
    }
  }

  // Gives the value of --config, which is needed before all others.
  std::optional<std::string> chosen_file(const std::vector<std::string>& arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].starts_with("--config=")) return arguments[i].substr(9);
      if (arguments[i] == "--config" && i + 1 < arguments.size()) return arguments[i + 1];
    }
    const char* value = std::getenv(variable_of(program_, "config").c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  }

  void read_arguments(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size();) i += read_argument(arguments, i);
  }

  std::map<std::string, Said, std::less<>> take() { return std::move(said_); }

  std::optional<Error> problem() const {
    if (problems_.empty()) return std::nullopt;
    return invalid_input(fmt::format("{}", fmt::join(problems_, "\n")));
  }

 private:
  void complain(std::string what) { problems_.push_back(std::move(what)); }

  // A setting, by the name that it has here: that of a family has its word in it.
  struct Named {
    const Setting* setting;
    std::string name;
  };

  std::optional<Named> find(std::string_view name) const {
    for (const Setting& setting : known_) {
      if (setting.name == name && !is_family(setting)) return Named{&setting, setting.name};
      const auto word = word_in(name, setting.name);
      if (word && word->find('.') == std::string_view::npos)
        return Named{&setting, std::string(name)};
    }
    return std::nullopt;
  }
  std::optional<Named> find_flag(std::string_view flag) const {
    for (const Setting& setting : known_) {
      if (is_family(setting)) continue;
      if (flag_of(setting.name) == flag) return Named{&setting, setting.name};
    }
    for (const Setting& setting : known_) {
      const auto word = word_in(flag, flag_of(setting.name));
      if (word) return Named{&setting, with_word(setting.name, *word)};
    }
    return std::nullopt;
  }

  void say(const Named& named, std::string text, std::string origin) {
    if (is_truth(named.setting->value) && !is_truth(text)) {
      return complain(fmt::format("{}: {} must be true or false, not {}", origin, named.name,
                                  codec::in_quotes(text)));
    }
    said_[named.name] = {std::move(text), std::move(origin)};
  }

  // --- Files ---

  std::vector<fs::path> yaml_files_of(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code error;
    if (!fs::exists(directory, error)) return files;
    for (fs::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() == ".yaml") files.push_back(at->path());
    }
    if (error) complain(fmt::format("{}: {}", directory.string(), error.message()));
    std::sort(files.begin(), files.end());
    return files;
  }

  void read_file(const fs::path& path) {
    const Result<std::string> text = read_whole(path);
    if (!text) return complain(text.error().message);
    const codec::YamlFile file =
        codec::read_yaml(*text, {.bytes = kFileBytesMax, .nodes = 100'000});
    if (file.problem) {
      complain(fmt::format("{}:{}:{}: {}", path.string(), file.problem->at.line,
                           file.problem->at.column, file.problem->what));
    }
    for (const codec::Tree& document : file.documents) {
      if (!codec::is_null(document)) read_tree(path.string(), "", document);
    }
  }

  void read_tree(const std::string& path, const std::string& prefix, const codec::Tree& tree) {
    if (tree.kind != codec::Tree::Kind::Map) {
      return complain(fmt::format("{}:{}: {} must be a map, not {}", path, tree.at.line,
                                  prefix.empty() ? "the file" : prefix, codec::what_is(tree)));
    }
    for (std::size_t i = 0; i < tree.keys.size(); ++i) {
      const std::string name = (prefix.empty() ? "" : prefix + ".") + tree.keys[i].text;
      read_entry(fmt::format("{}:{}", path, tree.keys[i].at.line), path, name, tree.children[i]);
    }
  }

  void read_entry(const std::string& place, const std::string& path, const std::string& name,
                  const codec::Tree& value) {
    if (const auto named = find(name)) return read_value(place, *named, value);
    const auto is_inside = [&](const Setting& one) {
      return with_word(one.name, second_word(name)).starts_with(name + ".");
    };
    if (std::any_of(known_.begin(), known_.end(), is_inside)) return read_tree(path, name, value);
    complain(fmt::format("{}: no setting is called {}.{}", place, codec::in_quotes(name),
                         did_you_mean(name, names_like(name))));
  }

  void read_value(const std::string& place, const Named& named, const codec::Tree& value) {
    std::vector<std::string> parts;
    const bool is_list = value.kind == codec::Tree::Kind::List;
    for (const codec::Tree& part : is_list ? value.children : std::vector{value}) {
      if (part.kind != codec::Tree::Kind::Scalar) {
        return complain(
            fmt::format("{}: {} must be text, not {}", place, named.name, codec::what_is(part)));
      }
      parts.push_back(codec::is_null(part) ? "" : part.text);
    }
    say(named, fmt::format("{}", fmt::join(parts, ",")), "file " + place);
  }

  // --- The command line ---

  // How many arguments were taken.
  std::size_t read_argument(const std::vector<std::string>& arguments, std::size_t at) {
    const std::string& argument = arguments[at];
    if (!argument.starts_with("--")) {
      complain("unexpected argument " + codec::in_quotes(argument));
      return 1;
    }
    const auto equals = argument.find('=');
    const std::string flag = argument.substr(2, equals - 2);
    const auto named = find_flag(flag);
    if (!named && flag != "config") {
      complain(fmt::format("there is no flag --{}.{}", flag, did_you_mean(flag, flags())));
      return 1;
    }
    if (equals != std::string::npos) {
      if (named) say(*named, argument.substr(equals + 1), "command line");
      return 1;
    }
    // A value that looks like a flag must be written with "=": far more often it was forgotten.
    const bool has_next = at + 1 < arguments.size() && !arguments[at + 1].starts_with("--");
    if (named && is_truth(named->setting->value)) {
      const bool is_said = has_next && is_truth(arguments[at + 1]);
      say(*named, is_said ? arguments[at + 1] : "true", "command line");
      return is_said ? 2 : 1;
    }
    if (!has_next) {
      complain(fmt::format("--{} needs a value", flag));
      return 1;
    }
    if (named) say(*named, arguments[at + 1], "command line");
    return 2;
  }

  std::vector<std::string> names_like(std::string_view name) const {
    std::vector<std::string> names;
    for (const Setting& setting : known_) {
      names.push_back(with_word(setting.name, second_word(name)));
    }
    return names;
  }
  std::vector<std::string> flags() const {
    std::vector<std::string> flags{"config"};
    for (const Setting& setting : known_) flags.push_back(flag_of(setting.name));
    return flags;
  }

  std::string_view program_;
  const std::vector<Setting>& known_;
  std::map<std::string, Said, std::less<>> said_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<Settings> Settings::load(std::string_view program, std::vector<Setting> known,
                                const std::vector<std::string>& arguments) {
  Loading loading(program, known);
  loading.read_files(loading.chosen_file(arguments));
  loading.read_environment();
  loading.read_arguments(arguments);
  if (auto problem = loading.problem()) return *std::move(problem);
  Settings settings;
  for (auto& [name, said] : loading.take()) {
    settings.values_.emplace(name, Value{std::move(said.text), std::move(said.origin)});
  }
  return settings;
}

const Settings::Value& Settings::value(std::string_view name) const {
  const auto found = values_.find(name);
  CHECK(found != values_.end(), "a setting that nobody described");
  return found->second;
}

Error Settings::wrong(std::string_view name, std::string_view why) const {
  return invalid_input(fmt::format("{}: {} ({})", name, why, value(name).origin));
}

const std::string& Settings::text(std::string_view name) const { return value(name).text; }

bool Settings::flag(std::string_view name) const { return value(name).text == "true"; }

Result<std::int64_t> Settings::number(std::string_view name) const {
  const auto parsed = codec::parse_integer<std::int64_t>(text(name));
  if (!parsed) return wrong(name, parsed.error().message);
  return *parsed;
}

Result<Duration> Settings::duration(std::string_view name) const {
  const auto parsed = codec::Scalar<Duration>::parse(text(name));
  if (!parsed) return wrong(name, parsed.error().message);
  return *parsed;
}

Result<Bytes> Settings::bytes(std::string_view name) const {
  const auto parsed = codec::parse_bytes(text(name));
  if (!parsed) return wrong(name, parsed.error().message);
  return *parsed;
}

std::vector<std::string> Settings::list(std::string_view name) const {
  std::vector<std::string> parts;
  std::string_view rest = text(name);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    if (auto part = trimmed(rest.substr(0, comma)); !part.empty()) parts.push_back(std::move(part));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return parts;
}

std::vector<std::string> Settings::members(std::string_view family) const {
  std::vector<std::string> words;
  for (const auto& [name, value] : values_) {
    if (name.substr(0, name.find('.')) != family) continue;
    const std::string_view word = second_word(name);
    if (words.empty() || words.back() != word) words.emplace_back(word);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

std::vector<std::string> Settings::differences(const Settings& other) const {
  std::vector<std::string> names;
  const auto compare = [&](const Settings& here, const Settings& there) {
    for (const auto& [name, value] : here.values_) {
      const auto found = there.values_.find(name);
      const bool is_new = found == there.values_.end() || found->second.text != value.text;
      if (is_new) names.push_back(name);
    }
  };
  compare(*this, other);
  compare(other, *this);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string Settings::show() const {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  for (const auto& [name, value] : values_) {
    name_width = std::max(name_width, name.size());
    value_width = std::max(value_width, value.text.size());
  }
  std::string shown;
  for (const auto& [name, value] : values_) {
    fmt::format_to(std::back_inserter(shown), "{:<{}}  {:<{}}  {}\n", name, name_width, value.text,
                   value_width, value.origin);
  }
  return shown;
}

std::string help_for(std::string_view program, std::string_view what,
                     const std::vector<Setting>& known) {
  std::size_t width = std::string_view("--config FILE").size();
  for (const Setting& setting : known) {
    width = std::max(width, with_word(flag_of(setting.name), kAnyWord).size() + 2);
  }
  std::string help = fmt::format("{}\n\nSettings:\n", what);
  const auto line = [&](const std::string& flag, const std::string& text) {
    fmt::format_to(std::back_inserter(help), "  {:<{}}  {}\n", flag, width, text);
  };
  line("--config FILE", fmt::format("default: /etc/berth/{}.yaml, if it is there", program));
  for (const Setting& setting : known) {
    const std::string standard =
        setting.value.empty() ? "" : fmt::format(" (default: {})", setting.value);
    line("--" + with_word(flag_of(setting.name), kAnyWord), setting.what + standard);
  }
  if (known.empty()) return help;
  const Setting& example = known.front();
  fmt::format_to(std::back_inserter(help),
                 "\nEach can also be set in the file (\"{}: ...\", nested or dotted) and in the\n"
                 "environment ({}). The command line wins over the environment, the environment\n"
                 "over files.\n",
                 example.name, variable_of(program, example.name));
  return help;
}

}  // namespace berth::shell
