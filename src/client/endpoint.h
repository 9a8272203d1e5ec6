#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "client/login.h"

// Where the control plane is.
namespace berth::client {

struct UnixSocket {
  std::string path;

  friend bool operator==(const UnixSocket&, const UnixSocket&) = default;
};

struct Https {
  HostPort at;
  Login login;

  friend bool operator==(const Https&, const Https&) = default;
};

using Endpoint = std::variant<UnixSocket, Https>;

// As people write it: "/run/berth/berthd.sock", "https://host:8443".
std::string to_string(const Endpoint& endpoint);

// What the user said, and what the environment has to say about it; empty: nothing.
struct Whereabouts {
  std::string server;  // https://host:port
  std::string socket;  // a path
  std::filesystem::path config_directory;
  std::filesystem::path runtime_directory;  // of this user; empty for root
  std::filesystem::path system_socket = "/run/berth/berthd.sock";
};

// The first of: the server that was named, the socket that was named, the user's own socket if it
// is there, the system's if it is there, the server of the last login, and again the system's
// socket, where the user is then told that nobody is.
Result<Endpoint> find_endpoint(const Whereabouts& whereabouts);

}  // namespace berth::client
