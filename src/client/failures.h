#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "client/endpoint.h"

// What may go wrong on the way, in words that say what to do.
namespace berth::client {

// Nobody answers there. `why` is the system's word for it.
Error unreachable(const Endpoint& endpoint, std::string_view why);

// What the server answered instead of what was asked for: {"error": {"code", "message"}}, or
// anything else that a web server may say.
Error refusal(unsigned status, std::string_view body);

}  // namespace berth::client
