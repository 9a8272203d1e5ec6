#include "cli/ask/connection.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace berth::cli {
namespace {

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void declare_connection_flags(CLI::App& verb, ConnectionFlags& flags) {
  verb.add_option("--server", flags.server, "A control plane elsewhere, after `berth login`")
      ->type_name("https://HOST:PORT")
      ->envname("BERTH_SERVER")
      ->take_last();
  verb.add_option("--socket", flags.socket, "Socket of the control plane on this machine")
      ->type_name("PATH")
      ->envname("BERTH_SOCKET")
      ->take_last();
}

std::string config_directory() {
  if (const std::string named = environment_text("BERTH_CONFIG_DIR"); !named.empty()) return named;
  if (const std::string xdg = environment_text("XDG_CONFIG_HOME"); !xdg.empty())
    return xdg + "/berth";
  const std::string home = environment_text("HOME");
  return home.empty() ? "" : home + "/.config/berth";
}

Result<client::Client> connect(const ConnectionFlags& flags, client::Client::Options options) {
  const client::Endpoint endpoint = TRY(client::find_endpoint(
      {.server = flags.server,
       .socket = flags.socket,
       .config_directory = config_directory(),
       .runtime_directory = geteuid() == 0 ? "" : environment_text("XDG_RUNTIME_DIR")}));
  return client::Client(endpoint, options);
}

}  // namespace berth::cli
