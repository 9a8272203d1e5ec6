#include "client/connect.h"

#include <boost/asio/ssl/host_name_verification.hpp>

#include <algorithm>

namespace berth::client {
namespace {

std::string why(const boost::system::error_code& error) {
  return error == asio::error::timed_out ? "no answer in time" : error.message();
}

Result<void> connect_tcp(const Https& at, TlsStream& stream, Pump& pump) {
  asio::ip::tcp::resolver resolver(pump.context());
  asio::ip::tcp::resolver::results_type found;
  auto error = pump.await([&] { resolver.cancel(); },
                          [&](auto handler) {
                            resolver.async_resolve(
                                at.at.host, at.at.port,
                                [&found, handler](beast::error_code result, auto results) mutable {
                                  found = std::move(results);
                                  handler(result);
                                });
                          });
  if (error) return unreachable(at, why(error));
  auto& socket = beast::get_lowest_layer(stream);
  error = pump.await([&] { socket.close(); },
                     [&](auto handler) { socket.async_connect(found, handler); });
  if (error) return unreachable(at, why(error));
  return {};
}

}  // namespace

Result<LocalStream> connect(const UnixSocket& at, Pump& pump) {
  LocalStream stream(pump.context());
  if (at.path.empty() || at.path.size() >= 108) {
    return invalid_input("\"" + at.path + "\" cannot be the path of a socket: it is too long");
  }
  const auto error =
      pump.await([&] { stream.close(); },
                 [&](auto handler) {
                   stream.async_connect(asio::local::stream_protocol::endpoint(at.path), handler);
                 });
  if (error) return unreachable(at, why(error));
  return stream;
}

Result<void> prepare(asio::ssl::context& context, const Https& at) {
  const auto buffer = [](const std::string& text) { return asio::buffer(text); };
  boost::system::error_code error;
  const auto failed = [&] { return static_cast<bool>(error); };
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                          asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                          asio::ssl::context::no_tlsv1_1,
                      error);
  if (!failed()) context.add_certificate_authority(buffer(at.login.authority), error);
  if (!failed()) context.use_certificate_chain(buffer(at.login.certificate), error);
  if (!failed()) {
    context.use_private_key(buffer(at.login.key), asio::ssl::context::pem, error);
  }
  if (!failed()) context.set_verify_mode(asio::ssl::verify_peer, error);
  if (!failed()) return {};
  return invalid_input("the saved login cannot be used (" + error.message() +
                       "): berth login again");
}

Result<TlsStream> connect(const Https& at, asio::ssl::context& context, Pump& pump) {
  TlsStream stream(pump.context(), context);
  TRY(connect_tcp(at, stream, pump));
  stream.set_verify_callback(asio::ssl::host_name_verification(kServerName));
  SSL_set_tlsext_host_name(stream.native_handle(), kServerName);
  const auto error = pump.await(
      [&] { close(stream); },
      [&](auto handler) { stream.async_handshake(asio::ssl::stream_base::client, handler); });
  if (error) return unreachable(at, why(error));
  return stream;
}

}  // namespace berth::client
