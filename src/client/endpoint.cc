#include "client/endpoint.h"

#include <fmt/format.h>

#include <system_error>

namespace berth::client {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Result<Endpoint> https_endpoint(const std::string& server, const Whereabouts& whereabouts) {
  const HostPort at = TRY(parse_server(server));
  const auto login = TRY(load_login(whereabouts.config_directory));
  if (login) return Https{at, *login};
  return invalid_input(fmt::format(
      "there is no certificate for {0} in {1}\n"
      "Get a token there (berth join-token --role admin), then: berth login https://{0} TOKEN",
      to_string(at), whereabouts.config_directory.string()));
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  if (const auto* local = std::get_if<UnixSocket>(&endpoint)) return local->path;
  return "https://" + to_string(std::get<Https>(endpoint).at);
}

Result<Endpoint> find_endpoint(const Whereabouts& whereabouts) {
  if (!whereabouts.server.empty()) return https_endpoint(whereabouts.server, whereabouts);
  if (!whereabouts.socket.empty()) return UnixSocket{whereabouts.socket};
  if (!whereabouts.runtime_directory.empty()) {
    const fs::path own = whereabouts.runtime_directory / "berth" / "berthd.sock";
    if (is_there(own)) return UnixSocket{own.string()};
  }
  if (is_there(whereabouts.system_socket)) return UnixSocket{whereabouts.system_socket.string()};
  const auto login = TRY(load_login(whereabouts.config_directory));
  if (login) return https_endpoint(login->server, whereabouts);
  return UnixSocket{whereabouts.system_socket.string()};
}

}  // namespace berth::client
