#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>

#include "base/result.h"
#include "client/failures.h"
#include "client/pump.h"

// Connections as Beast wants them, one type per kind of endpoint.
namespace berth::client {

namespace asio = boost::asio;
namespace beast = boost::beast;

using LocalStream = beast::basic_stream<asio::local::stream_protocol>;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

// Every server's certificate has this name, whatever its address.
inline constexpr const char* kServerName = "berthd";

inline void close(LocalStream& stream) { stream.close(); }
inline void close(TlsStream& stream) { beast::get_lowest_layer(stream).close(); }

Result<LocalStream> connect(const UnixSocket& at, Pump& pump);

// Trusts only the authority of the login; `context` must outlive the stream.
Result<void> prepare(asio::ssl::context& context, const Https& at);
Result<TlsStream> connect(const Https& at, asio::ssl::context& context, Pump& pump);

// Connects and hands the stream to `use`, whose Result is the answer.
template <class Use>
auto with_connection(const Endpoint& endpoint, Pump& pump, const Use& use)
    -> decltype(use(std::declval<LocalStream&>())) {
  if (const auto* local = std::get_if<UnixSocket>(&endpoint)) {
    LocalStream stream = TRY(connect(*local, pump));
    return use(stream);
  }
  const auto& remote = std::get<Https>(endpoint);
  asio::ssl::context context(asio::ssl::context::tls_client);
  TRY(prepare(context, remote));
  TlsStream stream = TRY(connect(remote, context, pump));
  return use(stream);
}

}  // namespace berth::client
