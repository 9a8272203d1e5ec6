#pragma once

#include <memory>

#include "controld/api/services.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace berth::controld {

// The API as a gRPC service, to be added to a server that demands certificates of this unit.
// `services` must outlive it. Callback API: no call costs a thread.
std::unique_ptr<::grpc::Service> make_grpc_front(const api::Services& services);

}  // namespace berth::controld
