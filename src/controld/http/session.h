#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "controld/api/services.h"
#include "controld/http/probes.h"
#include "controld/http/server.h"
#include "controld/http/stream.h"

// One connection: its requests, one after the other.
namespace berth::controld::http {

// What the sessions share. Of the thread that serves them, but for the count.
struct Front {
  const api::Services& services;
  const Limits limits;
  std::atomic<std::size_t> connections = 0;
  PortTroubles troubles = {};
};

asio::awaitable<void> serve(std::shared_ptr<Stream> stream, api::Caller caller, Front& front);

}  // namespace berth::controld::http
