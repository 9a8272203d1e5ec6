#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <memory>

#include "controld/api/services.h"
#include "controld/http/server.h"

// One connection: its requests, one after the other.
namespace berth::controld::http {

namespace asio = boost::asio;
namespace beast = boost::beast;

// What the sessions share.
struct Front {
  const api::Services& services;
  const Limits limits;
  std::atomic<std::size_t> connections = 0;
};

using UnixStream = beast::basic_stream<asio::local::stream_protocol>;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

asio::awaitable<void> serve(std::shared_ptr<UnixStream> stream, api::Caller caller, Front& front);
asio::awaitable<void> serve(std::shared_ptr<TlsStream> stream, api::Caller caller, Front& front);

}  // namespace berth::controld::http
