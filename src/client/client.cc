#include "client/client.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "client/connect.h"
#include "client/event_stream.h"
#include "client/messages.h"

namespace berth::client {
namespace {

namespace http = beast::http;

constexpr std::uint64_t kAnswerBytesMax = std::uint64_t{1} << 30;

http::verb verb_of(Method method) {
  switch (method) {
    case Method::Get: return http::verb::get;
    case Method::Post: return http::verb::post;
    case Method::Delete: return http::verb::delete_;
  }
  return http::verb::get;
}

http::request<http::string_body> to_http(const Request& request, std::string_view accept) {
  http::request<http::string_body> out(verb_of(request.method), request.path, 11);
  out.set(http::field::host, kServerName);
  out.set(http::field::user_agent, "berth");
  out.set(http::field::accept, beast::string_view(accept.data(), accept.size()));
  out.set(http::field::connection, "close");
  if (request.body != nullptr) {
    out.set(http::field::content_type, "application/json");
    out.body() = json_of(*request.body);
  }
  out.prepare_payload();
  return out;
}

// One request and its answer, whose body is passed on as it comes.
class Exchange {
 public:
  Exchange(Stream& stream, Pump& pump, const Endpoint& endpoint)
      : stream_(stream), pump_(pump), endpoint_(endpoint) {
    parser_.body_limit(boost::none);
    parser_.eager(true);
  }

  // Who refuses a large request says so before having read all of it, and hangs up.
  Result<void> send(const http::request<http::string_body>& request) {
    const auto sent = await([&](auto handler) { http::async_write(stream_, request, handler); });
    const auto answered =
        await([&](auto handler) { http::async_read_header(stream_, buffer_, parser_, handler); });
    return sent || answered ? answered : sent;
  }

  unsigned status() const { return parser_.get().result_int(); }
  bool is_event_stream() const {
    return parser_.get()[http::field::content_type].starts_with("text/event-stream");
  }

  // The next bytes of the body; empty: that was all.
  Result<std::string> next() {
    while (parser_.get().body().empty() && !parser_.is_done()) {
      TRY(await([&](auto handler) { http::async_read_some(stream_, buffer_, parser_, handler); }));
    }
    return std::exchange(parser_.get().body(), {});
  }

  Result<std::string> rest() {
    std::string body;
    for (std::string piece = TRY(next()); !piece.empty(); piece = TRY(next())) {
      body += piece;
      if (body.size() > kAnswerBytesMax) {
        return Error{Code::Exhausted, "the server's answer is larger than 1 GiB"};
      }
    }
    return body;
  }

 private:
  template <class Start>
  Result<void> await(const Start& start) {
    const auto error = pump_.await([this] { stream_.close(); }, start);
    if (!error) return {};
    const bool late = error == asio::error::timed_out;
    return unreachable(
        endpoint_, late ? "no answer in time" : "the connection broke (" + error.message() + ")");
  }

  Stream& stream_;
  Pump& pump_;
  const Endpoint& endpoint_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
};

Result<std::string> answer_to(Exchange& exchange, const http::request<http::string_body>& request) {
  TRY(exchange.send(request));
  std::string body = TRY(exchange.rest());
  if (exchange.status() / 100 != 2) return refusal(exchange.status(), body);
  return body;
}

// An answer that is one message, where a stream was expected, is a stream of one.
Result<void> read_events(Exchange& exchange, Message& each,
                         const std::function<bool()>& on_message) {
  if (exchange.status() / 100 != 2) {
    const std::string body = TRY(exchange.rest());
    return refusal(exchange.status(), body);
  }
  const auto take = [&](const ServerEvent& event) -> Result<bool> {
    if (event.name == "error") return refusal(500, event.data);
    TRY(read_json(event.data, each));
    return on_message();
  };
  if (!exchange.is_event_stream()) {
    const std::string body = TRY(exchange.rest());
    TRY(take({"", body}));
    return {};
  }
  EventStream events;
  while (true) {
    const std::string piece = TRY(exchange.next());
    if (piece.empty() || !TRY(events.feed(piece, take))) return {};
  }
}

}  // namespace

Client::Client(Endpoint endpoint, Options options)
    : endpoint_(std::move(endpoint)), options_(options) {}

Result<void> Client::call(const Request& request, Message& response) const {
  Pump pump;
  pump.set_deadline(options_.connect_timeout);
  const auto out = to_http(request, "application/json");
  const std::unique_ptr<Stream> connection = TRY(connect(endpoint_, pump));
  pump.set_deadline(options_.answer_timeout);
  Exchange exchange(*connection, pump, endpoint_);
  const std::string body = TRY(answer_to(exchange, out));
  return read_json(body, response);
}

Result<void> Client::stream(const Request& request, Message& each,
                            const std::function<bool()>& on_message, const Tick& tick) const {
  Pump pump(tick);
  pump.set_deadline(options_.connect_timeout);
  const auto out = to_http(request, "text/event-stream");
  const auto follow = [&]() -> Result<void> {
    const std::unique_ptr<Stream> connection = TRY(connect(endpoint_, pump));
    pump.set_deadline(options_.answer_timeout);
    Exchange exchange(*connection, pump, endpoint_);
    TRY(exchange.send(out));
    pump.set_deadline(std::nullopt);
    return read_events(exchange, each, on_message);
  };
  const Result<void> ended = follow();
  if (pump.stopped()) return {};
  return ended;
}

}  // namespace berth::client
