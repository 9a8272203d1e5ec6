#include "cli/store/store_release.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

#include "cli/ask/objects.h"
#include "cli/show/table.h"

namespace berth::cli {
namespace {

Result<v1::Revision> decide(const client::Client& client, const std::string& path,
                            const client::Message& request) {
  return client::call<v1::Revision>(
      client, {.method = client::Method::Post, .path = path, .body = &request});
}

Table table_of(const v1::Adoption& adoption) {
  Table table({{"ITEM"},
               {"VERSION"},
               {"SUBJECT"},
               {"INSTANCES", Align::Right},
               {.head = "ON", .wraps = true}});
  for (const v1::AdoptedRequest& request : adoption.requests()) {
    table.add({{request.item()},
               {request.version()},
               {request.subject()},
               {std::to_string(request.instances())},
               {fmt::format("{}", fmt::join(request.nodes(), " "))}});
  }
  return table;
}

// Whoever is not heard of cannot say what it runs.
Result<std::string> who_is_away(const client::Client& client) {
  std::string text;
  const v1::Nodes nodes = TRY(list_nodes(client));
  for (const v1::Node& node : nodes.nodes()) {
    if (!is_away(node)) continue;
    text += fmt::format(
        "{} is away: what only it runs is not in the list. It is not asked for, and is stopped "
        "there when\nit is back; what others run too is started elsewhere. Bring it back first if "
        "you can.\n",
        printable(node.name()));
  }
  return text;
}

}  // namespace

Result<ExitCode> accept_store(const ConnectionFlags& connection, Console& console) {
  const client::Client client = TRY(connect(connection));
  const auto revision = TRY(decide(client, "/v1/store/accept", v1::AcceptStoreRequest{}));
  console.out << fmt::format(
      "The store is the truth (revision {}): what it does not ask for is stopped.\n",
      revision.revision());
  return ExitCode::Done;
}

Result<ExitCode> adopt_store(const ConnectionFlags& connection, Adopting adopting,
                             Console& console) {
  const client::Client client = TRY(connect(connection));
  const auto adoption = TRY(client::call<v1::Adoption>(
      client, {.method = client::Method::Get, .path = "/v1/store/adoption"}));
  console.out << (adoption.requests().empty() ? "No agent says that it was told to run anything.\n"
                                              : table_of(adoption).render(console.out_style, 0));
  console.out << TRY(who_is_away(client));
  if (adopting == Adopting::Preview) return ExitCode::Done;
  const auto revision = TRY(decide(client, "/v1/store/adopt", v1::AdoptStoreRequest{}));
  console.out << fmt::format(
      "This is asked for again (revision {}); nothing of it is restarted.\n"
      "Labels, node configurations, overrides and subjects are not known to agents: apply your "
      "files\nagain.\n",
      revision.revision());
  return ExitCode::Done;
}

}  // namespace berth::cli
