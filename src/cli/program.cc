#include "cli/program.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <ostream>

#include "base/suggest.h"
#include "cli/flags.h"
#include "cli/show/help.h"
#include "cli/show/table.h"
#include "cli/verbs/verb.h"

namespace berth::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  berth apply -f examples/demo                make it so, and watch it become true\n"
    "  berth get instances                         what runs where\n"
    "  berth why telemetry                         why an instance is where it is\n"
    "  berth plan -f app.yaml                      what applying it would do\n"
    "  berth plan --offline -f examples/vehicle    the same from files, without a control plane\n"
    "  berth schema > berth.schema.json            for editors that check YAML\n"
    "\n"
    "Exit codes:\n"
    "  0  done; plan: no change          5  timeout, or not durable yet: not known\n"
    "  1  other error                    6  cannot reach the control plane\n"
    "  2  not everything can be placed   7  session open: busy, try again later\n"
    "  3  invalid input                 10  plan: changes\n"
    "  4  not found                    130  interrupted\n"
    "\n"
    "The control plane is found at --server or BERTH_SERVER, --socket or BERTH_SOCKET, the socket "
    "of\n"
    "this user or of this machine, or where you logged in last.\n"
    "Every flag has an environment variable, named in the help of its verb.\n"
    "Colours are for terminals only; NO_COLOR turns them off.";

class Program {
 public:
  Program() : app_("Berth: what runs where on your edge nodes, and why.", "berth") {
    app_.footer(kFooter);
    app_.require_subcommand(0, 1);  // so that "events" after `get` is a word, not a verb
    app_.set_help_flag("-h,--help", "Print this help and exit");
    app_.set_version_flag("--version", "berth " BERTH_VERSION, "Print the version and exit");
    for (const Verb* verb : verbs()) {
      CLI::App* app = app_.add_subcommand(verb->name, verb->what);
      app->set_help_flag("-h,--help", "Print this help and exit");
      if (verb->hidden) app->group("");
      commands_[app] = verb->declare(*app);
      // With a callback of its own, CLI11 reads the environment of this verb only if it is called.
      app->parse_complete_callback([] {});
    }
  }

  ExitCode run(std::vector<std::string> arguments, Console& console) {
    if (!arguments.empty() && arguments.front() == "help") arguments = help_as_flag(arguments);
    arguments = verb_first(std::move(arguments));
    let_socket_win(arguments);
    try {
      if (arguments.empty()) return usage_error(app_, "a verb is missing", console);
      if (const auto wrong = unknown_verb(arguments.front())) {
        return usage_error(app_, *wrong, console);
      }
      std::ranges::reverse(arguments);  // as CLI11 wants them
      app_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      console.out << help_of(parsed_verb(), console.out_style);
      return ExitCode::Done;
    } catch (const CLI::Success& answer) {
      app_.exit(answer, console.out, console.err);
      return ExitCode::Done;
    } catch (const CLI::ParseError& error) {
      return usage_error(parsed_verb(), describe(error), console);
    }
    return perform(parsed_verb(), console);
  }

 private:
  // `berth help plan` is what people try first.
  static std::vector<std::string> help_as_flag(std::vector<std::string> arguments) {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
    return arguments;
  }

  // Where the control plane is may also be said before the verb: `berth --server X get nodes`.
  static std::vector<std::string> verb_first(std::vector<std::string> arguments) {
    std::size_t verb = 0;
    while (verb < arguments.size()) {
      const std::string& word = arguments[verb];
      if (word.starts_with("--server=") || word.starts_with("--socket=")) {
        verb += 1;
      } else if (word == "--server" || word == "--socket") {
        verb += 2;
      } else {
        break;
      }
    }
    if (verb == 0 || verb >= arguments.size()) return arguments;
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(verb);
    std::rotate(arguments.begin(), at, at + 1);
    return arguments;
  }

  // The command line counts more than the environment, also where they speak of different things.
  static void let_socket_win(const std::vector<std::string>& arguments) {
    const auto names_socket = [](const std::string& word) {
      return word == "--socket" || word.starts_with("--socket=");
    };
    const auto end = std::ranges::find(arguments, "--");
    if (std::any_of(arguments.begin(), end, names_socket)) ::unsetenv("BERTH_SERVER");
  }

  const CLI::App& parsed_verb() const {
    const auto parsed = app_.get_subcommands();
    return parsed.empty() ? app_ : *parsed.front();
  }

  std::optional<std::string> unknown_verb(const std::string& word) const {
    std::vector<std::string> known;
    for (const Verb* verb : verbs()) known.emplace_back(verb->name);
    if (word.starts_with("-") || std::ranges::find(known, word) != known.end()) return std::nullopt;
    return fmt::format("\"{}\" is no verb.{}", printable(word), did_you_mean(word, known));
  }

  std::string describe(const CLI::ParseError& error) const {
    const std::vector<std::string> extra = parsed_verb().remaining();
    const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    if (!is_extra || extra.empty()) return error.what();
    const std::string& word = extra.front();
    if (!word.starts_with("-")) return fmt::format("unexpected argument \"{}\"", printable(word));
    std::vector<std::string> known;
    for (const Flag& flag : flags_of(parsed_verb())) {
      known.insert(known.end(), flag.names.begin(), flag.names.end());
    }
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("there is no flag {}.{}", printable(name), did_you_mean(name, known));
  }

  static std::string name_of(const CLI::App& app) {
    return app.get_parent() == nullptr ? "berth" : "berth " + app.get_name();
  }

  static ExitCode usage_error(const CLI::App& app, const std::string& what, Console& console) {
    console.err << name_of(app) << ": " << console.err_style.paint("error:", Tone::Bad) << ' '
                << what << "\nTry \"" << name_of(app) << " --help\".\n";
    return ExitCode::InvalidInput;
  }

  ExitCode perform(const CLI::App& verb, Console& console) const {
    const Result<ExitCode> result = commands_.at(&verb)(console);
    if (result) return *result;
    console.err << name_of(verb) << ": " << console.err_style.paint("error:", Tone::Bad) << ' '
                << result.error().message << '\n';
    return exit_code_of(result.error());
  }

  CLI::App app_;
  std::map<const CLI::App*, Command> commands_;
};

}  // namespace

int run_program(const std::vector<std::string>& arguments, Console console) {
  const ExitCode code = Program().run(arguments, console);
  console.out.flush();
  if (console.out) return static_cast<int>(code);
  console.err << "berth: error: cannot write to standard output\n";
  return static_cast<int>(ExitCode::OtherError);
}

}  // namespace berth::cli
