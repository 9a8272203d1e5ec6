#include "controld/http/exec.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <string>
#include <utility>

#include "berth/v1/api.pb.h"
#include "controld/http/request.h"
#include "controld/http/waiter.h"

namespace berth::controld::http {
namespace {

namespace websocket = beast::websocket;

using api::CallPtr;
using asio::awaitable;
using Socket = websocket::stream<Stream&>;

constexpr std::size_t kMessageBytes = 1 << 20;  // of input

awaitable<bool> read_input(Socket& socket, v1::ExecInput& input) {
  beast::flat_buffer buffer;
  beast::error_code error;
  co_await socket.async_read(buffer, into(error));
  if (error) co_return false;
  const auto data = buffer.cdata();
  co_return read_json({static_cast<const char*>(data.data()), data.size()}, input).has_value();
}

awaitable<bool> write_message(Socket& socket, const std::string& json) {
  beast::error_code error;
  co_await socket.async_write(asio::buffer(json), into(error));
  co_return !error;
}

// `stream` is what the socket stands on.
awaitable<void> pass_input(std::shared_ptr<Stream> stream, std::shared_ptr<Socket> socket,
                           CallPtr call) {
  while (!call->is_over()) {
    v1::ExecInput input;
    const bool read = co_await read_input(*socket, input);
    if (!read) break;
    call->input(&input);
  }
  call->abandon();
  (void)stream;
}

awaitable<void> say_end(Socket& socket, const api::Call::End& end) {
  if (end.error) {
    v1::Output output;
    output.mutable_error()->set_reason(std::string(api::name_of(end.error->code)));
    output.mutable_error()->set_message(end.error->message);
    const std::string json = api::json_of(output);
    co_await write_message(socket, json);
  }
  beast::error_code ignored;
  co_await socket.async_close(websocket::close_code::normal, into(ignored));
}

awaitable<void> pass_output(Socket& socket, const CallPtr& call, Waiter& waiter) {
  bool goes_on = true;
  while (goes_on) {
    const api::Call::Next next = call->next();
    if (const auto* answer = std::get_if<api::AnswerPtr>(&next)) {
      goes_on = co_await write_message(socket, (*answer)->json());
    } else if (const auto* end = std::get_if<api::Call::End>(&next)) {
      co_await say_end(socket, *end);
      goes_on = false;
    } else {
      co_await waiter.wait();
    }
  }
  call->abandon();
}

std::shared_ptr<Socket> socket_on(Stream& stream) {
  auto socket = std::make_shared<Socket>(stream);
  socket->set_option(websocket::stream_base::timeout{std::chrono::seconds(30),
                                                     websocket::stream_base::none(), false});
  socket->read_message_max(kMessageBytes);
  socket->text(true);
  return socket;
}

}  // namespace

awaitable<void> serve_exec(std::shared_ptr<Stream> stream,
                           const beast::http::request<beast::http::string_body>& request,
                           const api::Match& match, const api::Caller& caller, Front& front) {
  stream->expires_never();
  const auto socket = socket_on(*stream);
  beast::error_code error;
  co_await socket->async_accept(request, into(error));
  if (error) co_return;
  v1::ExecInput first;
  const bool read = co_await read_input(*socket, first);
  if (!read) co_return;
  for (const auto& [name, value] : match.fields) (void)api::set_field(first, name, value);
  const auto waiter = std::make_shared<Waiter>(stream->get_executor());
  const auto call = std::make_shared<api::Call>(caller);
  call->set_wake([waiter] { waiter->wake(); });
  match.method->run(front.services, first, call);
  asio::co_spawn(stream->get_executor(), pass_input(stream, socket, call), asio::detached);
  co_await pass_output(*socket, call, *waiter);
}

}  // namespace berth::controld::http
