#include "client/connect.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <algorithm>

namespace berth::client {
namespace {

using LocalStream = beast::basic_stream<asio::local::stream_protocol>;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

// Beast wants to know where handlers run in ways that an erased one cannot tell: ours all run where
// their stream does.
auto where_the_stream_runs(Stream::Handler handler) {
  return [handler = std::move(handler)](beast::error_code error, std::size_t count) mutable {
    std::move(handler)(error, count);
  };
}

template <class Layers>
class StreamOf final : public Stream {
 public:
  explicit StreamOf(Layers layers, std::unique_ptr<asio::ssl::context> context = nullptr)
      : context_(std::move(context)), layers_(std::move(layers)) {}

  executor_type get_executor() override { return layers_.get_executor(); }
  void close() override { beast::get_lowest_layer(layers_).close(); }

 private:
  void read_some(asio::mutable_buffer into, Handler handler) override {
    layers_.async_read_some(into, where_the_stream_runs(std::move(handler)));
  }
  void write_some(const FewBuffers& from, Handler handler) override {
    layers_.async_write_some(from, where_the_stream_runs(std::move(handler)));
  }

  const std::unique_ptr<asio::ssl::context> context_;  // of the layers, which it must outlive
  Layers layers_;
};

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

Result<LocalStream> connect_local(const UnixSocket& at, Pump& pump) {
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

// Trusts only the authority of the login; `context` must outlive the stream.
Result<TlsStream> connect_tls(const Https& at, asio::ssl::context& context, Pump& pump) {
  TlsStream stream(pump.context(), context);
  TRY(connect_tcp(at, stream, pump));
  stream.set_verify_callback(asio::ssl::host_name_verification(kServerName));
  SSL_set_tlsext_host_name(stream.native_handle(), kServerName);
  const auto error = pump.await(
      [&] { beast::get_lowest_layer(stream).close(); },
      [&](auto handler) { stream.async_handshake(asio::ssl::stream_base::client, handler); });
  if (error) return unreachable(at, why(error));
  return stream;
}

}  // namespace

Result<std::unique_ptr<Stream>> connect(const Endpoint& endpoint, Pump& pump) {
  if (const auto* local = std::get_if<UnixSocket>(&endpoint)) {
    LocalStream stream = TRY(connect_local(*local, pump));
    return std::make_unique<StreamOf<LocalStream>>(std::move(stream));
  }
  const auto& remote = std::get<Https>(endpoint);
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  TRY(prepare(*context, remote));
  TlsStream stream = TRY(connect_tls(remote, *context, pump));
  return std::make_unique<StreamOf<TlsStream>>(std::move(stream), std::move(context));
}

}  // namespace berth::client
