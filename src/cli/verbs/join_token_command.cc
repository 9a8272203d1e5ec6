#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/flags.h"
#include "cli/show/json_text.h"
#include "cli/show/views.h"
#include "cli/verbs/verb.h"

// `berth join-token`: the one line that lets another machine or user in.
namespace berth::cli {
namespace {

constexpr const char* kJoinTokenExamples =
    "Examples:\n"
    "  berth join-token                            paste the line on the machine that shall join\n"
    "  berth join-token --name n4 --ttl 10m        only for a node of that name, only for a while\n"
    "  berth join-token --role admin --name alice  for berth login on another machine\n"
    "  berth join-token --role client --namespace games --name lobby\n"
    "                                              only for sessions, and only in that namespace\n"
    "\n"
    "A token works once. It lets in whoever has it: treat it like a password.\n"
    "Exit codes: 0 done, 3 invalid input, 6 cannot reach the control plane.";

struct TokenFlags {
  ConnectionFlags connection;
  std::string role = "node";
  std::string name;
  std::vector<std::string> namespaces;
  std::optional<Duration> ttl;
  std::string output = "table";
};

Result<ExitCode> run(const TokenFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  v1::CreateJoinTokenRequest request;
  request.set_role(flags.role);
  request.set_name(flags.name);
  for (const std::string& ns : flags.namespaces) request.add_namespaces(ns);
  if (flags.ttl) {
    request.set_ttl_ms(std::chrono::duration_cast<std::chrono::milliseconds>(*flags.ttl).count());
  }
  const auto token = TRY(client::call<v1::JoinToken>(
      client, {.method = client::Method::Post, .path = "/v1/join-tokens", .body = &request}));
  const Json json{
      {"token", token.token()}, {"line", token.line()}, {"expiresMs", token.expires_ms()}};
  if (flags.output == "json") {
    console.out << json_text(json);
  } else if (flags.output == "yaml") {
    console.out << yaml_text(json);
  } else if (flags.output == "name") {
    console.out << token.token() << '\n';
  } else {
    console.out << (token.line().empty() ? token.token() : token.line()) << '\n';
    if (console.live) {
      console.err << fmt::format("Works once, until {}.\n", local_time(token.expires_ms()));
    }
  }
  return ExitCode::Done;
}

Command declare_join_token(CLI::App& verb) {
  const auto flags = std::make_shared<TokenFlags>();
  add_choice(verb, "--role", flags->role, {"node", "admin", "viewer", "client"},
             "What it makes its user")
      ->envname("BERTH_ROLE");
  verb.add_option("--namespace", flags->namespaces,
                  "Of a client: where it may open and close sessions; may be repeated")
      ->type_name("NAMESPACE")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->envname("BERTH_NAMESPACE");
  verb.add_option("--name", flags->name, "The node or user that it is for; left out: anyone")
      ->type_name("NAME")
      ->envname("BERTH_NAME");
  add_duration(verb, "--ttl", flags->ttl, "How long it can be used; left out: one hour")
      ->envname("BERTH_TTL");
  add_output_flag(verb, flags->output);
  declare_connection_flags(verb, flags->connection);
  verb.footer(kJoinTokenExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb join_token_verb{"join-token", "Make a token for a node or user to join",
                           declare_join_token};

}  // namespace berth::cli
