#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "controld/api/call.h"
#include "controld/http/stream.h"

// Who is at the other end.
namespace berth::controld::http {

// The group whose members may use the socket; nullopt: only root and our own user.
Result<std::optional<gid_t>> group_named(const std::string& name);

// As the kernel says. Without an identity: it is nobody who may do anything.
api::Caller caller_of(UnixStream& stream, std::optional<gid_t> group);

// Where it is: of IPv6 the network, which is one owner's. Empty if it has left.
std::string address_of(beast::tcp_stream& stream);

// As the certificate says, if one was given; the handshake has verified it.
api::Caller caller_of(TlsStream& stream);

// Certificates of callers are verified if they are given. The chain includes the authority, so that
// who joins can check it against the fingerprint of the token.
Result<std::shared_ptr<asio::ssl::context>> tls_context(const trust::KeyAndCertificate& server,
                                                        const std::string& authority);

}  // namespace berth::controld::http
