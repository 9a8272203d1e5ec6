#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <deque>

#include "client/client.h"
#include "client/connect.h"
#include "client/messages.h"

// A command in an instance: input, output and the terminal's size at the same time.
namespace berth::client {
namespace {

namespace http = beast::http;
namespace websocket = beast::websocket;

using Socket = websocket::stream<Stream&>;

constexpr std::size_t kMessageBytesMax = std::size_t{16} << 20;
constexpr std::size_t kInputUnasked = std::size_t{64} << 10;  // see api.proto

// A duplicate that may be closed without closing the program's own input.
int duplicate_of(int file) { return ::fcntl(file, F_DUPFD_CLOEXEC, 0); }

class Session {
 public:
  Session(Socket& socket, asio::io_context& context, const ExecSession& session)
      : socket_(socket),
        session_(session),
        input_(context),
        resized_(context),
        ended_by_signal_(context) {}

  // Until the command has ended, the connection has broken, or we are told to end.
  Result<int> run(asio::io_context& context) {
    socket_.read_message_max(kMessageBytesMax);
    v1::ExecInput first = session_.first;
    if (session_.window) session_.window(first);
    send(first);
    receive();
    follow_window();
    ended_by_signal_.add(SIGTERM);
    ended_by_signal_.add(SIGHUP);
    ended_by_signal_.async_wait([this](beast::error_code error, int) {
      if (!error) finish(Error{Code::Internal, "interrupted; the command was left alone"});
    });
    if (session_.input >= 0) {
      input_.assign(duplicate_of(session_.input));
      await_input();
    } else {
      send_end();
    }
    context.restart();
    while (!result_ && context.run_one() > 0) {
    }
    if (!result_) return Error{Code::Internal, "the session ended without a result"};
    return *result_;
  }

 private:
  void finish(Result<int> result) {
    if (!result_) result_ = std::move(result);
  }

  void send(const v1::ExecInput& message) {
    outgoing_.push_back(json_of(message));
    if (outgoing_.size() == 1) send_next();
  }

  void send_end() {
    v1::ExecInput message;
    message.set_end(true);
    send(message);
  }

  void send_next() {
    socket_.text(true);
    socket_.async_write(asio::buffer(outgoing_.front()), [this](beast::error_code error, auto) {
      if (error) return;  // the reader learns of it too, and knows more
      outgoing_.pop_front();
      if (!outgoing_.empty()) return send_next();
      await_input_if_due();
    });
  }

  // Input is read only when what was read before is on its way, and the program takes it: the far
  // end sets the pace.
  void await_input_if_due() {
    if (wants_input_ && outgoing_.empty() && input_room_ > 0) await_input();
  }

  void receive() {
    socket_.async_read(buffer_, [this](beast::error_code error, auto) {
      if (error) {
        return finish(Error{Code::Unavailable, "the connection broke before the command ended (" +
                                                   error.message() + ")"});
      }
      const std::string text = beast::buffers_to_string(buffer_.data());
      buffer_.consume(buffer_.size());
      if (take(text)) receive();
    });
  }

  bool take(const std::string& text) {
    v1::Output output;
    if (const Result<void> read = read_json(text, output); !read) {
      finish(read.error());
      return false;
    }
    session_.on_output(output);
    input_room_ += output.input_credit();
    await_input_if_due();
    if (output.has_error()) {
      finish(Error{Code::Internal, output.error().reason() +
                                       (output.error().message().empty() ? "" : ": ") +
                                       output.error().message()});
    } else if (output.has_exit_code()) {
      finish(output.exit_code());
    }
    return !result_;
  }

  void follow_window() {
    if (!session_.window) return;
    resized_.add(SIGWINCH);
    resized_.async_wait([this](beast::error_code error, int) {
      if (error) return;
      v1::ExecInput message;
      session_.window(message);
      send(message);
      follow_window();
    });
  }

  // Files and /dev/null cannot be waited for, and need not be.
  void await_input() {
    wants_input_ = false;
    input_.async_wait(asio::posix::descriptor_base::wait_read, [this](beast::error_code error) {
      if (!error || error == asio::error::operation_not_supported) read_input();
    });
  }

  void read_input() {
    std::array<char, 16 << 10> piece;
    const ssize_t count =
        ::read(input_.native_handle(), piece.data(), std::min(piece.size(), input_room_));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return await_input();
    if (count <= 0) return send_end();
    v1::ExecInput message;
    message.set_data(piece.data(), static_cast<std::size_t>(count));
    input_room_ -= static_cast<std::size_t>(count);
    wants_input_ = true;
    send(message);
  }

  Socket& socket_;
  const ExecSession& session_;
  asio::posix::stream_descriptor input_;
  asio::signal_set resized_;
  asio::signal_set ended_by_signal_;
  beast::flat_buffer buffer_;
  std::deque<std::string> outgoing_;
  bool wants_input_ = false;
  std::size_t input_room_ = kInputUnasked;  // what may still be sent
  std::optional<Result<int>> result_;
};

Result<void> upgrade(Socket& socket, Pump& pump, const std::string& path,
                     const Endpoint& endpoint) {
  websocket::response_type response;
  const auto error = pump.await(
      [&] { socket.next_layer().close(); },
      [&](auto handler) { socket.async_handshake(response, kServerName, path, handler); });
  if (!error) return {};
  if (error == websocket::error::upgrade_declined) {
    return refusal(response.result_int(), response.body());
  }
  return unreachable(endpoint, error.message());
}

}  // namespace

Result<int> Client::exec(const std::string& path, const ExecSession& session) const {
  Pump pump;
  pump.set_deadline(options_.connect_timeout);
  const std::unique_ptr<Stream> stream = TRY(connect(endpoint_, pump));
  pump.set_deadline(options_.answer_timeout);
  Socket socket(*stream);
  TRY(upgrade(socket, pump, path, endpoint_));
  Session exec_session(socket, pump.context(), session);
  Result<int> result = exec_session.run(pump.context());
  stream->close();
  return result;
}

}  // namespace berth::client
