#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/node_call.h"
#include "cli/show/table.h"
#include "cli/verbs/verb.h"

// `berth cordon` and `berth uncordon`: whether anything new may be placed on a node.
namespace berth::cli {
namespace {

struct CordonFlags {
  ConnectionFlags connection;
  std::vector<std::string> nodes;
};

Command declare_cordon(CLI::App& verb, const char* examples) {
  const auto flags = std::make_shared<CordonFlags>();
  verb.add_option("NODE", flags->nodes, "Which nodes")->type_name("")->required()->expected(1, -1);
  declare_connection_flags(verb, flags->connection);
  verb.footer(examples);
  return [flags, action = verb.get_name()](Console& console) -> Result<ExitCode> {
    const client::Client client = TRY(connect(flags->connection));
    for (const std::string& node : flags->nodes) {
      v1::NodeRequest request;
      request.set_node(node);
      const v1::Revision revision = TRY(call_node(client, node, action, request));
      console.out << fmt::format("node/{} {}ed (revision {})\n", printable(node), action,
                                 revision.revision());
    }
    return ExitCode::Done;
  };
}

constexpr const char* kCodes =
    "Exit codes: 0 done, 4 no such node, 6 cannot reach the control plane.";

Command declare_cordon(CLI::App& verb) {
  static const std::string examples =
      std::string(
          "Examples:\n"
          "  berth cordon n1             what runs there stays; nothing new comes\n"
          "  berth drain n1              moves away what runs there, too\n\n") +
      kCodes;
  return declare_cordon(verb, examples.c_str());
}

Command declare_uncordon(CLI::App& verb) {
  static const std::string examples =
      std::string("Examples:\n  berth uncordon n1           also ends a drain\n\n") + kCodes;
  return declare_cordon(verb, examples.c_str());
}

}  // namespace

const Verb cordon_verb{"cordon", "Place nothing new on a node", declare_cordon};
const Verb uncordon_verb{"uncordon", "Use a node again", declare_uncordon};

}  // namespace berth::cli
