#pragma once

#include <string>

#include "base/result.h"
#include "client/client.h"

namespace CLI {
class App;
}  // namespace CLI

// What the verbs that talk to the control plane have in common.
namespace berth::cli {

struct ConnectionFlags {
  std::string server;
  std::string socket;
};

void declare_connection_flags(CLI::App& verb, ConnectionFlags& flags);

// The directory of `berth login`: $BERTH_CONFIG_DIR, else berth/ where the user's settings are.
std::string config_directory();

// Finds out where the control plane is; nobody is asked anything yet.
Result<client::Client> connect(const ConnectionFlags& flags, client::Client::Options options = {});

}  // namespace berth::cli
