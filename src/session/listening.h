#pragma once

#include "base/result.h"
#include "session/fd.h"
#include "session/gateway.h"

// Ports of this machine, for gateways. Conflict: somebody has it; InvalidInput: it is no address of
// this machine.
namespace berth::session {

// What is wrong with what is asked, whatever the machine is like.
Result<void> check_forward(const Forward& forward);

// A socket that does not block and hears who comes there; `type` is SOCK_STREAM or SOCK_DGRAM.
Result<Fd> listen_at(const Endpoint& endpoint, int type);

// Nobody else can have it, and nobody is heard there.
Result<Fd> hold_port(const Endpoint& endpoint, int type);

void turn_socket_on(int fd, int level, int option);

}  // namespace berth::session
