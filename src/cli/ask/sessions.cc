#include "cli/ask/sessions.h"

#include <fmt/format.h>

#include <utility>

#include "client/path.h"

namespace berth::cli {
namespace {

constexpr std::uint32_t kListedMost = 100'000;

std::pair<std::string, std::string> in_namespace(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == name.npos) return {model::Namespace::kDefault, std::string(name)};
  return {std::string(name.substr(0, slash)), std::string(name.substr(slash + 1))};
}

}  // namespace

model::SessionKey session_named(std::string_view name) {
  if (name.starts_with("session/")) name.remove_prefix(8);
  auto [ns, rest] = in_namespace(name);
  return {std::move(ns), std::move(rest)};
}

model::ApplicationKey application_named(std::string_view name) {
  if (name.starts_with("application/")) name.remove_prefix(12);
  auto [ns, rest] = in_namespace(name);
  return {std::move(ns), std::move(rest)};
}

std::string name_of(const model::SessionKey& key) { return key.ns + "/" + key.name; }
std::string name_of(const v1::Session& session) {
  return session.namespace_() + "/" + session.name();
}

const std::vector<std::string>& session_actions() {
  static const std::vector<std::string> actions{"open", "close", "list", "describe", "watch"};
  return actions;
}

Result<v1::Sessions> list_sessions(const client::Client& client, const SessionFilter& filter) {
  return client::call<v1::Sessions>(
      client,
      {.path = client::with_query("/v1/sessions", {{"namespace", filter.ns},
                                                   {"application", filter.application},
                                                   {"state", filter.state},
                                                   {"limit", std::to_string(kListedMost)}})});
}

std::string session_path(const model::SessionKey& key) {
  return fmt::format("/v1/namespaces/{}/sessions/{}", client::encoded(key.ns),
                     client::encoded(key.name));
}

Result<v1::Session> get_session(const client::Client& client, const model::SessionKey& key) {
  return client::call<v1::Session>(client, {.path = session_path(key)});
}

}  // namespace berth::cli
