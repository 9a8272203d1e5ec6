#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/client.h"
#include "model/application.h"
#include "model/pool.h"

// Sessions, as the control plane lists them and as they are named.
namespace berth::cli {

// "games/blue", "session/games/blue"; "blue" is in the default namespace.
model::SessionKey session_named(std::string_view name);
// The same of "games/echo".
model::ApplicationKey application_named(std::string_view name);
std::string name_of(const model::SessionKey& key);
std::string name_of(const v1::Session& session);  // "games/blue"

// What can be done with them: the words after `berth session`.
const std::vector<std::string>& session_actions();

struct SessionFilter {
  std::string ns;
  std::string application;
  std::string state;
};
Result<v1::Sessions> list_sessions(const client::Client& client, const SessionFilter& filter);
Result<v1::Session> get_session(const client::Client& client, const model::SessionKey& key);

// The route of one session.
std::string session_path(const model::SessionKey& key);

}  // namespace berth::cli
