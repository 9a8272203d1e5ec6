#pragma once

#include <chrono>
#include <filesystem>
#include <memory>

namespace grpc {
class ServerCredentials;
}  // namespace grpc

namespace berth::link {

// The credentials of a gRPC server from the files that trust::save has written. Clients must have a
// certificate of the same authority. The files are looked at again after each `refresh`, so that a
// renewed certificate is used for new connections without a restart.
std::shared_ptr<grpc::ServerCredentials> server_credentials(
    const std::filesystem::path& directory, std::chrono::seconds refresh = std::chrono::minutes(1));

}  // namespace berth::link
