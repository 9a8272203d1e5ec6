#include "client/testing/exec_server.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "berth/v1/api.pb.h"
#include "client/messages.h"

namespace berth::client::testing {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Socket = asio::local::stream_protocol::socket;
using WebSocket = beast::websocket::stream<Socket&>;

int listen_at(const std::string& path) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  CHECK(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
        "a socket in a new directory is free");
  CHECK(::listen(listener, 1) == 0, "a bound socket can listen");
  return listener;
}

void decline(Socket& socket) {
  http::response<http::string_body> response(http::status::not_found, 11);
  response.body() = R"({"error":{"code":"NotFound","message":"there is no instance"}})";
  response.prepare_payload();
  beast::error_code ignored;
  http::write(socket, response, ignored);
}

void say(WebSocket& socket, const v1::Output& output) {
  beast::error_code ignored;
  socket.text(true);
  socket.write(asio::buffer(json_of(output)), ignored);
}

// False: that was the end of the input.
bool answer(WebSocket& socket, const v1::ExecInput& input) {
  v1::Output output;
  if (!input.instance().empty()) {
    output.set_from_stderr(true);
    output.set_data(input.instance() + " " + input.command(0));
  }
  if (!input.data().empty()) {
    output.set_data(input.data());
    output.set_input_credit(static_cast<std::uint32_t>(input.data().size()));
  }
  if (input.end()) output.set_exit_code(7);
  say(socket, output);
  return !input.end();
}

void talk(Socket& socket, const http::request<http::string_body>& request, bool breaks) {
  WebSocket web_socket(socket);
  beast::error_code error;
  web_socket.accept(request, error);
  beast::flat_buffer buffer;
  bool goes_on = !error;
  while (goes_on) {
    web_socket.read(buffer, error);
    v1::ExecInput input;
    if (error || breaks || !read_json(beast::buffers_to_string(buffer.data()), input)) return;
    buffer.consume(buffer.size());
    goes_on = answer(web_socket, input);
  }
  web_socket.read(buffer, error);  // until the client goes
}

}  // namespace

ExecServer::ExecServer(Behaviour behaviour) {
  std::string pattern = std::filesystem::temp_directory_path() / "berth-exec-XXXXXX";
  CHECK(mkdtemp(pattern.data()) != nullptr, "a temporary directory can be made");
  directory_ = pattern;
  socket_ = directory_ + "/berthd.sock";
  thread_ =
      std::thread([this, listener = listen_at(socket_), behaviour] { serve(listener, behaviour); });
}

ExecServer::~ExecServer() {
  thread_.join();
  std::filesystem::remove_all(directory_);
}

void ExecServer::serve(int listener, Behaviour behaviour) {
  asio::io_context context;
  asio::local::stream_protocol::acceptor acceptor(context, asio::local::stream_protocol(),
                                                  listener);
  Socket socket = acceptor.accept();
  beast::flat_buffer buffer;
  http::request<http::string_body> request;
  beast::error_code error;
  http::read(socket, buffer, request, error);
  if (error) return;
  behaviour.declines ? decline(socket) : talk(socket, request, behaviour.breaks);
}

}  // namespace berth::client::testing
