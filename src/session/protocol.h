#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"

// What apps and the session service of their node say to each other: one JSON object per line. Told
// to the authors of apps in docs/howto/offer-sessions.md.
namespace berth::session {

constexpr std::size_t kLineMax = 128 << 10;

// What an app says. Fields that its type does not have are as a new one has them.
struct AppLine {
  enum class Type { Hello, Opened, Failed, Closed, Ping, Clients, Unknown };

  Type type = Type::Unknown;
  std::string token;                // hello
  std::vector<std::string> closed;  // hello: the sessions that have ended without a connection
  std::string session;
  std::string message;      // failed
  std::uint32_t count = 0;  // clients
};

// An error: it is not such an object, or lacks something. What we do not know is passed over, so
// that apps may be newer than we are.
Result<AppLine> parse_app_line(std::string_view line);

// Each is a whole line.
std::string welcome_line(const model::InstanceKey& key);
std::string open_line(std::string_view session, std::string_view data);
std::string close_line(std::string_view session, Duration grace);
std::string pong_line();
std::string error_line(std::string_view message);

std::string to_base64(std::string_view bytes);

}  // namespace berth::session
