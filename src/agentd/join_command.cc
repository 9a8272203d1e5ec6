#include "agentd/join_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "agentd/config.h"
#include "agentd/machine.h"
#include "trust/certificate.h"
#include "trust/files.h"
#include "trust/join.h"
#include "trust/token.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kTimeout{30};
constexpr std::string_view kStandardStateDir = "/var/lib/berth-agent";

struct Request {
  std::string url;
  std::string token;
  std::vector<std::string> flags;
};

Result<Request> read_request(const std::vector<std::string>& arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--name" || argument.starts_with("--name=")) {
      request.flags.push_back("--node-" + argument.substr(2));
    } else if (argument.starts_with("--")) {
      request.flags.push_back(argument);
    } else if (i > 0 && arguments[i - 1].starts_with("--") &&
               arguments[i - 1].find('=') == std::string::npos) {
      request.flags.push_back(argument);
    } else if (request.url.empty()) {
      request.url = argument;
    } else if (request.token.empty()) {
      request.token = argument;
    } else {
      return invalid_input("unexpected argument " + argument);
    }
  }
  if (request.token.empty()) {
    return invalid_input(
        "usage: berth-agent join https://HOST:PORT TOKEN [--name NAME] [--state-dir DIR]\n"
        "A token is made on the control plane: berth join-token");
  }
  return request;
}

// A machine that joins again keeps its name, unless told otherwise.
Result<std::string> name_for(const Config& config) {
  const std::string name = config.node.empty() ? host_name() : config.node;
  const std::string flaw = flaw_of_node_name(name);
  if (!flaw.empty()) return invalid_input(fmt::format("node name: {}; set --name", flaw));
  return name;
}

std::string without_scheme(const std::string& url) {
  const auto scheme = url.find("://");
  const std::string rest = scheme == std::string::npos ? url : url.substr(scheme + 3);
  return rest.substr(0, rest.find('/'));
}

}  // namespace

Result<std::string> run_join(const std::vector<std::string>& arguments) {
  const Request request = TRY(read_request(arguments));
  const trust::Token token = TRY(trust::parse_token(request.token));
  const shell::Settings settings = TRY(load_settings(request.flags));
  const Config config = TRY(read_config(settings));
  const std::string name = TRY(name_for(config));
  // Before the token is used up: it is good for one time.
  TRY(make_state_directory(config.state_dir));

  const std::string key = trust::make_key();
  const trust::Joined joined = TRY(trust::join(request.url, token, name, key, kTimeout));
  TRY(trust::save(identity_directory(config.state_dir),
                  {{key, joined.certificate}, joined.authority}));
  const std::string server = joined.link.empty() ? without_scheme(request.url) : joined.link;
  TRY(trust::write_secret(joined_file(config.state_dir), joined_text(name, server)));

  const std::string done = fmt::format("This machine is now node {}.\n", name);
  if (config.state_dir != kStandardStateDir) {
    return fmt::format("{}Start its agent:  berth-agent --state-dir {}\n", done,
                       config.state_dir.string());
  }
  return done + "Start its agent:  systemctl enable --now berth-agent, or berth-agent\n";
}

}  // namespace berth::agentd
