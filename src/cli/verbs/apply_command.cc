#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/ask/change.h"
#include "cli/ask/connection.h"
#include "cli/ask/kinds.h"
#include "cli/ask/manifest_names.h"
#include "cli/ask/sources.h"
#include "cli/verbs/verb.h"

// `berth apply`: makes the documents the desired state, and shows how it becomes true.
namespace berth::cli {
namespace {

constexpr const char* kApplyExamples =
    "Examples:\n"
    "  berth apply -f app.yaml                    and wait until everything is proven to be well\n"
    "  berth apply -f examples/demo --no-wait     only hand it over\n"
    "  berth apply -f app.yaml -o json | jq -r '.instances[] | .item + \" \" + "
    ".state'\n"
    "  berth plan -f app.yaml && berth apply -f app.yaml --if-revision 42\n"
    "                                             only if nothing has changed since the plan\n"
    "\n"
    "Well is what has passed its health check, or, without one, has been active for minHealthy "
    "(2s\n"
    "unless its item says otherwise), or has done its work. Applied again unchanged it waits just\n"
    "the same. Ctrl-C is safe: what was accepted goes on.\n"
    "Exit codes: 0 everything is well, 1 something failed, 2 something could not be placed, or is\n"
    "on a node that is away, 3 invalid input (nothing was applied), 5 timeout, or\n"
    "taken but not durable yet, 6 cannot reach the control plane, 130 interrupted.";

struct ApplyFlags {
  ConnectionFlags connection;
  std::vector<std::string> files;
  bool allow_partial = false;
  std::optional<std::uint64_t> if_revision;
  ChangeFlags change;
};

Result<v1::ApplyRequest> request_of(const ApplyFlags& flags, Console& console) {
  if (flags.files.empty()) return invalid_input("name what to apply: -f FILE, a directory or -");
  const auto sources = read_sources(flags.files, console.in);
  if (!sources) {
    console.err << sources.error().message << '\n';
    return invalid_input("not all files can be read; nothing was applied");
  }
  v1::ApplyRequest request;
  request.set_wait(!flags.change.no_wait);
  request.set_allow_partial(flags.allow_partial);
  if (flags.if_revision) request.set_if_revision(*flags.if_revision);
  for (const codec::SourceFile& source : *sources) {
    v1::SourceFile& file = *request.add_files();
    file.set_name(source.name);
    file.set_text(source.text);
  }
  return request;
}

// "item/app@1.0.0", as `berth get -o name` has them.
std::vector<std::string> names_in(const v1::ApplyRequest& request) {
  std::vector<std::string> names;
  for (const v1::SourceFile& file : request.files()) {
    for (const DocumentName& document : document_names({file.name(), file.text()})) {
      const auto kind = parse_kind(document.kind);
      names.push_back(fmt::format("{}/{}", kind ? singular(*kind) : document.kind, document.name));
    }
  }
  return names;
}

// Its instances are no deployment's, and nobody waits for them.
bool is_application(const std::string& name) { return name.starts_with("application/"); }

Result<ExitCode> run(const ApplyFlags& flags, Console& console) {
  const v1::ApplyRequest request = TRY(request_of(flags, console));
  const client::Client client = TRY(connect(flags.connection));
  ChangeFlags change = flags.change;
  const std::vector<std::string> names = names_in(request);
  if (std::ranges::any_of(names, is_application)) {
    change.when_nothing_changes = "berth get applications shows how many instances there are";
  }
  if (change.timeout) change.asked_for = names;
  return run_change(client, {.method = client::Method::Post, .path = "/v1/apply", .body = &request},
                    change, console);
}

Command declare_apply(CLI::App& verb) {
  const auto flags = std::make_shared<ApplyFlags>();
  verb.add_option("-f,--file", flags->files,
                  "Manifests: a file, a directory or - (standard input); repeatable")
      ->type_name("FILE")
      ->envname("BERTH_FILE");
  verb.add_flag("--allow-partial", flags->allow_partial,
                "Keep a new version where it works, also if it does not come up everywhere")
      ->envname("BERTH_ALLOW_PARTIAL");
  verb.add_option("--if-revision", flags->if_revision, "Refuse if the cluster has moved on since")
      ->type_name("N")
      ->envname("BERTH_IF_REVISION");
  declare_change_flags(verb, flags->change);
  declare_connection_flags(verb, flags->connection);
  verb.footer(kApplyExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb apply_verb{"apply", "Make documents the desired state, and watch it become true",
                      declare_apply};

}  // namespace berth::cli
