#pragma once

#include <memory>

#include "base/result.h"
#include "client/endpoint.h"
#include "client/failures.h"
#include "client/pump.h"
#include "client/stream.h"

namespace berth::client {

// Every server's certificate has this name, whatever its address.
inline constexpr const char* kServerName = "berthd";

// By TLS, if the endpoint is not of this machine; then only the authority of the login is trusted.
Result<std::unique_ptr<Stream>> connect(const Endpoint& endpoint, Pump& pump);

}  // namespace berth::client
