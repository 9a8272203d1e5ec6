#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/objects.h"
#include "cli/show/terminal.h"
#include "cli/verbs/verb.h"

// `berth exec`: a command inside an instance.
namespace berth::cli {
namespace {

constexpr const char* kExecExamples =
    "Examples:\n"
    "  berth exec web -- cat /etc/os-release\n"
    "  berth exec -it web/vehicle/0 -- sh            a shell on your terminal\n"
    "  berth exec -i web -- tar x < files.tar\n"
    "\n"
    "Exit codes: that of the command; 1 it could not be run, 4 no such instance, 6 cannot reach "
    "the\n"
    "control plane.";

struct ExecFlags {
  ConnectionFlags connection;
  std::vector<std::string> words;  // the instance, then the command
  bool interactive = false;
  bool terminal = false;
};

void set_window(v1::ExecInput& input) {
  const TerminalSize size = terminal_size(STDIN_FILENO);
  input.set_rows(static_cast<std::uint32_t>(size.rows));
  input.set_columns(static_cast<std::uint32_t>(size.columns));
}

Result<ExitCode> run(const ExecFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  const v1::Instances all = TRY(list_instances(client));
  const v1::Instance& instance = *TRY(pick_instance(all, flags.words.front()));
  client::ExecSession session;
  session.first.set_instance(name_of(instance));
  session.first.set_terminal(flags.terminal);
  session.first.mutable_command()->Add(flags.words.begin() + 1, flags.words.end());
  session.on_output = [&](const v1::Output& output) {
    (output.from_stderr() ? console.err : console.out) << output.data() << std::flush;
  };
  if (flags.interactive) session.input = STDIN_FILENO;
  std::optional<RawMode> raw;
  if (flags.terminal) {
    raw.emplace(TRY(RawMode::enter()));
    session.window = set_window;
  }
  const auto code = client.exec(
      fmt::format("/v1/instances/{}/exec", instance_path(key_of(instance.key()))), session);
  if (!code) return not_about_us(code.error());
  return static_cast<ExitCode>(*code & 0xFF);
}

Command declare_exec(CLI::App& verb) {
  const auto flags = std::make_shared<ExecFlags>();
  verb.add_option("INSTANCE", flags->words, "item[/subject[/index]], then -- and the command")
      ->type_name("")
      ->required()
      ->expected(2, -1);
  verb.add_flag("-i,--interactive", flags->interactive, "Pass standard input on")
      ->envname("BERTH_INTERACTIVE");
  verb.add_flag("-t,--tty", flags->terminal, "Give it a terminal; yours goes into raw mode")
      ->envname("BERTH_TTY");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kExecExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb exec_verb{"exec", "Run a command inside an instance", declare_exec};

}  // namespace berth::cli
