#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/objects.h"
#include "cli/show/table.h"
#include "cli/verbs/verb.h"
#include "client/path.h"

// `berth forget`: a node that does not come back.
namespace berth::cli {
namespace {

constexpr const char* kForgetExamples =
    "Examples:\n"
    "  berth forget n3\n"
    "\n"
    "Refused while the node is connected: stop its agent first. To come back, it must join again.\n"
    "Exit codes: 0 done, 4 no such node, 6 cannot reach the control plane.";

struct ForgetFlags {
  ConnectionFlags connection;
  std::string node;
};

Result<ExitCode> run(const ForgetFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  const auto revision = client::call<v1::Revision>(
      client,
      {.method = client::Method::Delete, .path = "/v1/nodes/" + client::encoded(flags.node)});
  if (!revision && revision.error().code == Code::NotFound) {
    const v1::Nodes all = TRY(list_nodes(client));
    TRY(pick_node(all, flags.node));
  }
  if (!revision) return revision.error();
  console.out << fmt::format("node/{} forgotten (revision {})\n", printable(flags.node),
                             revision->revision());
  return ExitCode::Done;
}

Command declare_forget(CLI::App& verb) {
  const auto flags = std::make_shared<ForgetFlags>();
  verb.add_option("NODE", flags->node, "Which node")->type_name("")->required();
  declare_connection_flags(verb, flags->connection);
  verb.footer(kForgetExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb forget_verb{"forget", "Forget a node for good", declare_forget};

}  // namespace berth::cli
