#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>

#include "controld/api/methods.h"
#include "controld/http/session.h"

namespace berth::controld::http {

// A command that is run in an instance, over a WebSocket: its input comes, its output goes.
// `request` asked for the upgrade.
asio::awaitable<void> serve_exec(std::shared_ptr<Stream> stream,
                                 const beast::http::request<beast::http::string_body>& request,
                                 const api::Match& match, const api::Caller& caller, Front& front);

}  // namespace berth::controld::http
