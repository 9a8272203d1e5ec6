#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

// What `berth login` leaves behind: who we are, whom we trust, and where that was.
namespace berth::client {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  std::string port;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Reads "https://host:port", "host:port" and "https://[::1]:8443"; a path after it is an error.
Result<HostPort> parse_server(std::string_view text);
std::string to_string(const HostPort& at);  // "host:port", "[::1]:8443"

// All PEM, but for the server.
struct Login {
  std::string key;
  std::string certificate;
  std::string authority;
  std::string server;  // "https://host:port"

  friend bool operator==(const Login&, const Login&) = default;
};

// nullopt: nobody has logged in here. An error: there is something, but not all of it.
Result<std::optional<Login>> load_login(const std::filesystem::path& directory);

// Replaces what was there. Only this user can read the key.
Result<void> save_login(const std::filesystem::path& directory, const Login& login);

}  // namespace berth::client
