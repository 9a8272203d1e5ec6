#pragma once

#include <optional>

#include "agentd/config.h"
#include "agentd/daemon.h"
#include "network/host_network.h"
#include "store/store.h"
#include "trust/files.h"

namespace berth::agentd {

// What the daemon stands on in production: the runtimes of this machine, their logs, and the link,
// if the machine has joined and a server is configured. Where instances can have no networks, the
// configuration says why afterwards.
Dependencies real_dependencies(Config& config, store::Store& store,
                               const std::optional<trust::Credentials>& credentials);

// Where the networks of this agent are to be.
network::Config network_config(const Config& config);

}  // namespace berth::agentd
