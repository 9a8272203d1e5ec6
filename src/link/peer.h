#pragma once

#include <string>

namespace grpc {
class ServerContextBase;
}  // namespace grpc

// Who is at the other end of a call, as gRPC knows it.
namespace berth::link {

// "127.0.0.1:4711", "[::1]:4711"; empty when the connection has broken.
std::string address_of(const grpc::ServerContextBase& context);

// Of the certificate that was verified; empty without one.
std::string common_name_of(const grpc::ServerContextBase& context);

}  // namespace berth::link
