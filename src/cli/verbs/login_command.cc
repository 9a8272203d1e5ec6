#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/verbs/verb.h"
#include "client/login.h"
#include "trust/join.h"

// `berth login`: makes this user known to a control plane elsewhere.
namespace berth::cli {
namespace {

constexpr const char* kLoginExamples =
    "Examples:\n"
    "  berth join-token --role admin              there: prints a token\n"
    "  berth login https://unit7:8443 TOKEN       here\n"
    "  berth get nodes                            from now on from here\n"
    "\n"
    "Leaves key.pem, cert.pem, ca.pem and server in $BERTH_CONFIG_DIR, else ~/.config/berth. The\n"
    "server is known by the fingerprint in the token; the secret is told to nobody else.\n"
    "Exit codes: 0 done, 3 wrong server or token, 6 cannot reach the control plane.";

constexpr std::chrono::seconds kTimeout{30};

struct LoginFlags {
  std::string server;
  std::string token;
  std::string name;
};

std::string user_name() {
  const char* user = std::getenv("USER");
  return user == nullptr || *user == '\0' ? "user" : user;
}

// A token that says for whom it is needs no name, and would not take another one.
Result<trust::Joined> join(const client::HostPort& at, const trust::Token& token,
                           const std::string& name, const std::string& key) {
  const auto joined = trust::join(client::to_string(at), token, name, key, kTimeout);
  const bool may_lack_a_name = !joined && joined.error().code == Code::InvalidInput && name.empty();
  return may_lack_a_name ? trust::join(client::to_string(at), token, user_name(), key, kTimeout)
                         : joined;
}

Result<ExitCode> run(const LoginFlags& flags, Console& console) {
  const client::HostPort at = TRY(client::parse_server(flags.server));
  const trust::Token token = TRY(trust::parse_token(flags.token));
  const std::string directory = config_directory();
  if (directory.empty()) {
    return invalid_input("there is no HOME to keep the login in: set BERTH_CONFIG_DIR");
  }
  const std::string key = trust::make_key();
  const trust::Joined joined = TRY(join(at, token, flags.name, key));
  TRY(client::save_login(directory, {.key = key,
                                     .certificate = joined.certificate,
                                     .authority = joined.authority,
                                     .server = "https://" + client::to_string(at)}));
  const trust::CertificateView certificate = TRY(trust::look_at(joined.certificate));
  console.out << fmt::format("Logged in to https://{} as {}; kept in {}\n", client::to_string(at),
                             certificate.common_name, directory);
  return ExitCode::Done;
}

Command declare_login(CLI::App& verb) {
  const auto flags = std::make_shared<LoginFlags>();
  verb.add_option("SERVER", flags->server, "https://HOST:PORT")->type_name("")->required();
  verb.add_option("TOKEN", flags->token, "What berth join-token printed there")
      ->type_name("")
      ->required();
  verb.add_option("--name", flags->name, "Your name there, if the token does not say it")
      ->type_name("NAME")
      ->envname("BERTH_NAME");
  verb.footer(kLoginExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb login_verb{"login", "Use a control plane elsewhere, with a token from there",
                      declare_login};

}  // namespace berth::cli
