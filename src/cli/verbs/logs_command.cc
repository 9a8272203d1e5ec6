#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/objects.h"
#include "cli/verbs/verb.h"
#include "client/path.h"

// `berth logs`: what an instance has printed.
namespace berth::cli {
namespace {

constexpr const char* kLogsExamples =
    "Examples:\n"
    "  berth logs web\n"
    "  berth logs web/vehicle/1 --tail 20 -f     the last lines, and then as they come\n"
    "\n"
    "What the instance wrote to its standard error goes to ours.\n"
    "Exit codes: 0 done, 1 its node cannot tell, 4 no such instance, 6 cannot reach the control\n"
    "plane.";

struct LogsFlags {
  ConnectionFlags connection;
  std::string instance;
  std::uint32_t tail = 0;
  bool follow = false;
};

Result<ExitCode> run(const LogsFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  const v1::Instances all = TRY(list_instances(client));
  const v1::Instance& instance = *TRY(pick_instance(all, flags.instance));
  const client::Request request{
      .path = client::with_query(
          fmt::format("/v1/instances/{}/logs", instance_path(key_of(instance.key()))),
          {{"tail", flags.tail == 0 ? "" : std::to_string(flags.tail)},
           {"follow", flags.follow ? "true" : ""}})};
  std::string problem;
  const auto print = [&](const v1::Output& output) {
    std::ostream& out = output.from_stderr() ? console.err : console.out;
    out << output.data() << std::flush;
    if (output.has_error()) problem = output.error().reason() + ": " + output.error().message();
    return static_cast<bool>(console.out);
  };
  const Result<void> ended = client::stream<v1::Output>(client, request, print);
  if (!ended) return not_about_us(ended.error());
  if (!problem.empty()) return Error{Code::Internal, problem};
  return ExitCode::Done;
}

Command declare_logs(CLI::App& verb) {
  const auto flags = std::make_shared<LogsFlags>();
  verb.add_option("INSTANCE", flags->instance, "item[/subject[/index]]")->type_name("")->required();
  verb.add_flag("-f,--follow", flags->follow, "Go on as it prints, until Ctrl-C")
      ->envname("BERTH_FOLLOW");
  verb.add_option("--tail", flags->tail, "Only so many of the last lines")
      ->type_name("N")
      ->envname("BERTH_TAIL");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kLogsExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb logs_verb{"logs", "Print what an instance has written", declare_logs};

}  // namespace berth::cli
