#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/flags.h"
#include "cli/verbs/verb.h"

// `berth completion`: scripts for shells, made from the verbs and flags that there are.
namespace berth::cli {
namespace {

constexpr const char* kCompletionExamples =
    "Examples:\n"
    "  source <(berth completion bash)                     # this shell; add it to ~/.bashrc\n"
    "  berth completion zsh > \"${fpath[1]}/_berth\"\n"
    "  berth completion fish > ~/.config/fish/completions/berth.fish";

struct VerbWords {
  std::string name;
  std::string what;
  std::vector<Flag> flags;
  std::vector<std::string> words;  // of the positional argument
  bool takes_names = false;        // its arguments are names that the control plane knows
};

std::vector<VerbWords> all_verbs(const CLI::App& program) {
  std::vector<VerbWords> all;
  for (const CLI::App* verb : program.get_subcommands(nullptr)) {
    if (verb->get_group().empty()) continue;  // hidden
    const auto& options = verb->get_options();
    const bool has_arguments = std::ranges::any_of(
        options, [](const CLI::Option* option) { return option->get_positional(); });
    const std::vector<std::string> words = positional_words_of(*verb);
    all.push_back({verb->get_name(), verb->get_description(), flags_of(*verb), words,
                   has_arguments && words.empty()});
  }
  return all;
}

std::vector<std::string> words_of(const VerbWords& verb) {
  std::vector<std::string> words = verb.words;
  for (const Flag& flag : verb.flags) {
    words.insert(words.end(), flag.names.begin(), flag.names.end());
  }
  return words;
}

std::string bash(const std::vector<VerbWords>& all) {
  std::string names, cases, values;
  for (const VerbWords& verb : all) {
    names += names.empty() ? verb.name : " " + verb.name;
    cases += fmt::format("    {}) words=\"{}\" ;;\n", verb.name, fmt::join(words_of(verb), " "));
    for (const Flag& flag : verb.flags) {
      if (flag.words.empty()) continue;
      values += fmt::format("    {}:{}) words=\"{}\" ;;\n", verb.name,
                            fmt::join(flag.names, fmt::format("|{}:", verb.name)),
                            fmt::join(flag.words, " "));
    }
  }
  return fmt::format(
      "# bash completion for berth\n"
      "_berth() {{\n"
      "  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local verb=\"${{COMP_WORDS[1]}}\" words=\"\"\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$verb:$prev\" in\n"
      "{}"
      "    *:-f|*:--file) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
      "  esac\n"
      "  [[ -n \"$words\" ]] || case \"$verb\" in\n"
      "{}"
      "  esac\n"
      "  [[ \"$cur\" == -* ]] ||\n"
      "    words+=\" $(berth __complete -- \"${{COMP_WORDS[@]:1:COMP_CWORD}}\" 2>/dev/null)\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "}}\n"
      "complete -o filenames -F _berth berth\n",
      names, values, cases);
}

// In single quotes, for both zsh and fish.
std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "'\\''");
  }
  return "'" + text + "'";
}

std::string zsh_escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("[]:", at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string zsh_argument(const Flag& flag) {
  if (!flag.takes_value) return "";
  if (flag.words.empty()) return ":file:_files";
  return fmt::format(":value:({})", fmt::join(flag.words, " "));
}

std::string zsh(const std::vector<VerbWords>& all) {
  std::string names, cases;
  for (const VerbWords& verb : all) {
    names += "    " + quoted(verb.name + ":" + zsh_escaped(verb.what)) + "\n";
    cases += fmt::format("    {}) _arguments", verb.name);
    for (const Flag& flag : verb.flags) {
      for (const std::string& name : flag.names) {
        const std::string repeat = flag.takes_value ? "*" : "";
        cases += " \\\n      " + quoted(fmt::format("{}{}[{}]{}", repeat, name,
                                                    zsh_escaped(flag.what), zsh_argument(flag)));
      }
    }
    if (verb.takes_names) cases += " \\\n      '*:name:_berth_names'";
    if (!verb.words.empty()) {
      cases += " \\\n      " + quoted(fmt::format("1:word:({})", fmt::join(verb.words, " ")));
    }
    cases += " ;;\n";
  }
  return fmt::format(
      "#compdef berth\n"
      "_berth_names() {{\n"
      "  local -a names=(${{(f)\"$(berth __complete -- $words[1,CURRENT] 2>/dev/null)\"}})\n"
      "  compadd -a names\n"
      "}}\n"
      "_berth() {{\n"
      "  local -a verbs=(\n{}  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $verb in\n{}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _berth ]]; then _berth \"$@\"; else compdef _berth berth; fi\n",
      names, cases);
}

std::string fish_flag(const VerbWords& verb, const Flag& flag) {
  std::string line =
      fmt::format("complete -c berth -n '__fish_seen_subcommand_from {}'", verb.name);
  for (const std::string& name : flag.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!flag.words.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(flag.words, " "));
  } else if (flag.takes_value) {
    line += " -r -F";
  }
  return line + " -d " + quoted(flag.what) + "\n";
}

std::string fish(const std::vector<VerbWords>& all) {
  std::string out = "# fish completion for berth\ncomplete -c berth -f\n";
  for (const VerbWords& verb : all) {
    out += fmt::format("complete -c berth -n __fish_use_subcommand -a {} -d {}\n", verb.name,
                       quoted(verb.what));
    for (const Flag& flag : verb.flags) out += fish_flag(verb, flag);
    if (verb.takes_names) {
      out += fmt::format(
          "complete -c berth -n '__fish_seen_subcommand_from {}' -a '(berth __complete -- "
          "(commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n",
          verb.name);
    }
    if (verb.words.empty()) continue;
    out += fmt::format("complete -c berth -n '__fish_seen_subcommand_from {}' -a '{}'\n", verb.name,
                       fmt::join(verb.words, " "));
  }
  return out;
}

Command declare_completion(CLI::App& verb) {
  const auto shell = std::make_shared<std::string>();
  add_choice(verb, "SHELL", *shell, {"bash", "zsh", "fish"}, "The shell to complete in")
      ->required();
  verb.footer(kCompletionExamples);
  return [shell, program = verb.get_parent()](Console& console) -> Result<ExitCode> {
    const std::vector<VerbWords> all = all_verbs(*program);
    console.out << (*shell == "bash" ? bash(all) : *shell == "zsh" ? zsh(all) : fish(all));
    return ExitCode::Done;
  };
}

}  // namespace

const Verb completion_verb{"completion", "Print a completion script for a shell",
                           declare_completion};

}  // namespace berth::cli
