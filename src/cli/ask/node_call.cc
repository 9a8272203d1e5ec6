#include "cli/ask/node_call.h"

#include <fmt/format.h>

#include "client/path.h"

namespace berth::cli {

Result<v1::Revision> call_node(const client::Client& client, const std::string& node,
                               const std::string& action, const client::Message& request) {
  auto revision = client::call<v1::Revision>(
      client, {.method = client::Method::Post,
               .path = fmt::format("/v1/nodes/{}/{}", client::encoded(node), action),
               .body = &request});
  if (!revision && revision.error().code == Code::NotFound) {
    const v1::Nodes all = TRY(list_nodes(client));
    TRY(pick_node(all, node));
  }
  return revision;
}

}  // namespace berth::cli
