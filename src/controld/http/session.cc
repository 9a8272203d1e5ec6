#include "controld/http/session.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <utility>

#include "berth/v1/api.pb.h"
#include "controld/api/methods.h"
#include "controld/http/probes.h"
#include "controld/http/request.h"

namespace berth::controld::http {
namespace {

namespace wire = beast::http;
namespace websocket = beast::websocket;

using Parser = wire::request_parser<wire::string_body>;
using api::CallPtr;
using asio::awaitable;

constexpr std::size_t kPieceBytes = 64 * 1024;      // of events that are written at once
constexpr std::size_t kExecMessageBytes = 1 << 20;  // of input
constexpr Duration kStreamBeginsAfter = 1s;         // at the latest, so that callers know it does

auto into(beast::error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

// Lets a coroutine wait for something that another thread does.
class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  explicit Waiter(const asio::any_io_executor& executor) : timer_(executor) {}

  // From any thread.
  void wake() {
    asio::post(timer_.get_executor(), [self = shared_from_this()] {
      self->woken_ = true;
      self->timer_.cancel();
    });
  }

  awaitable<void> wait(Duration at_most = Duration::max()) {
    if (!woken_) {
      at_most == Duration::max() ? timer_.expires_at(asio::steady_timer::time_point::max())
                                 : timer_.expires_after(at_most);
      beast::error_code ignored;
      co_await timer_.async_wait(into(ignored));
    }
    woken_ = false;
  }

 private:
  asio::steady_timer timer_;
  bool woken_ = false;
};

std::string in_events(const api::Answer& answer) { return "data: " + answer.json() + "\n\n"; }

std::string in_events(const Error& error) {
  return "event: error\ndata: " + error_json(api::name_of(error.code), error.message) + "\n\n";
}

template <class Stream>
class Session {
 public:
  Session(std::shared_ptr<Stream> stream, api::Caller caller, Front& front)
      : stream_(std::move(stream)), caller_(std::move(caller)), front_(front) {}

  awaitable<void> run() {
    bool goes_on = true;
    while (goes_on) goes_on = co_await serve_one();
    beast::error_code ignored;
    beast::get_lowest_layer(*stream_).socket().shutdown(asio::socket_base::shutdown_both, ignored);
    beast::get_lowest_layer(*stream_).close();
  }

 private:
  auto& lowest() { return beast::get_lowest_layer(*stream_); }
  auto executor() { return stream_->get_executor(); }

  // Whether another request may follow.
  awaitable<bool> serve_one() {
    Parser parser;
    parser.header_limit(front_.limits.header_bytes);
    parser.body_limit(boost::none);  // the limit depends on the call, which is not known yet
    lowest().expires_after(front_.limits.idle_time);
    beast::error_code error;
    co_await wire::async_read_header(*stream_, buffer_, parser, into(error));
    if (error == wire::error::header_limit) {
      co_await refuse(parser, 431, "InvalidInput", "the header is too large");
    }
    if (error) co_return false;
    const Target target = split_target(view(parser.get().target()));
    if (is_from_another_site(parser)) {
      co_return co_await refuse(parser, 403, "Forbidden", "requests of other sites are refused");
    }
    if (const Probe* probe = find_probe(target.path)) {
      co_return co_await serve_probe(parser, *probe, target);
    }
    const api::Routed routed = api::route(view(parser.get().method_string()), target.path);
    if (routed.matches.empty()) {
      co_return co_await refuse_route(parser, target, routed.path_is_known);
    }
    const api::Match& match = routed.matches.front();
    const bool allowed = co_await check_access(parser, *match.method);
    if (!allowed) co_return false;
    if (match.method->name == "Exec") {
      co_await serve_exec(parser, match);
      co_return false;
    }
    const bool complete = co_await read_body(parser, match.method->body_max);
    if (!complete) co_return false;
    co_return co_await serve_call(parser, match, target);
  }

  static std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

  // A browser says on whose behalf it asks; our own pages come from the host that they ask.
  static bool is_from_another_site(const Parser& parser) {
    const auto origin = view(parser.get()[wire::field::origin]);
    if (origin.empty()) return false;
    const auto host = view(parser.get()[wire::field::host]);
    const std::size_t scheme = origin.find("://");
    return scheme == std::string_view::npos || origin.substr(scheme + 3) != host;
  }

  // --- Answers that are one message.

  awaitable<bool> respond(const Parser& parser, int status, std::string type, std::string body) {
    wire::response<wire::string_body> response(static_cast<wire::status>(status),
                                               parser.get().version());
    response.set(wire::field::content_type, type);
    response.set(wire::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.keep_alive(parser.get().keep_alive() && parser.is_done());
    response.body() = std::move(body);
    if (parser.get().method() == wire::verb::head) response.body().clear();
    response.prepare_payload();
    lowest().expires_after(front_.limits.request_time);
    beast::error_code error;
    co_await wire::async_write(*stream_, response, into(error));
    co_return !error && response.keep_alive();
  }

  awaitable<bool> refuse(const Parser& parser, int status, std::string_view code,
                         std::string message) {
    return respond(parser, status, "application/json", error_json(code, message) + "\n");
  }

  awaitable<bool> refuse(const Parser& parser, const Error& error) {
    return refuse(parser, api::http_status_of(error.code), api::name_of(error.code), error.message);
  }

  awaitable<bool> refuse_route(const Parser& parser, const Target& target, bool path_is_known) {
    if (path_is_known) {
      return refuse(parser, 405, "InvalidInput", "this cannot be done with " + target.path);
    }
    return refuse(parser, 404, "NotFound", "there is nothing at " + target.path);
  }

  awaitable<bool> check_access(const Parser& parser, const api::Method& method) {
    const api::Refusal refusal = api::refusal_of(caller_, method);
    if (refusal == api::Refusal::None) co_return true;
    if (refusal == api::Refusal::NoIdentity) {
      co_await refuse(parser, 401, "Unauthenticated", std::string(advice_for_strangers()));
    } else {
      co_await refuse(
          parser, 403, "Forbidden",
          trust::to_string(*caller_.identity) + " may not call " + std::string(method.name));
    }
    co_return false;
  }

  static std::string_view advice_for_strangers() {
    if constexpr (std::is_same_v<Stream, UnixStream>) {
      return "this user may not use the socket: try as root, or as a member of the group that "
             "berthd's socketGroup names";
    }
    return "a certificate of this unit is needed: berth login with a token";
  }

  // Nothing is stored before it is known to be small enough.
  awaitable<bool> read_body(Parser& parser, std::size_t limit) {
    const auto declared = parser.content_length();
    const std::string too_large =
        "the body is too large: " + std::to_string(limit) + " bytes at most";
    if (declared && *declared > limit) {
      co_await refuse(parser, 413, "InvalidInput", too_large);
      co_return false;
    }
    lowest().expires_after(front_.limits.request_time);
    beast::error_code error;
    if (view(parser.get()[wire::field::expect]) == "100-continue") {
      wire::response<wire::empty_body> go_on(wire::status::continue_, parser.get().version());
      co_await wire::async_write(*stream_, go_on, into(error));
      if (error) co_return false;
    }
    parser.body_limit(limit);
    while (!parser.is_done()) {  // who sends steadily may take its time
      lowest().expires_after(front_.limits.request_time);
      co_await wire::async_read_some(*stream_, buffer_, parser, into(error));
      if (error == wire::error::body_limit) {
        co_await refuse(parser, 413, "InvalidInput", too_large);
      } else if (error && error != wire::error::end_of_stream) {
        co_await refuse(parser, 400, "InvalidInput", "the request is no HTTP: " + error.message());
      }
      if (error) co_return false;
    }
    co_return true;
  }

  awaitable<bool> serve_probe(Parser& parser, const Probe& probe, const Target& target) {
    const api::Method as_method{.name = probe.path, .access = probe.access};
    const bool allowed = co_await check_access(parser, as_method);
    if (!allowed) co_return false;
    const bool complete = co_await read_body(parser, 0);
    if (!complete) co_return false;
    const auto waiter = std::make_shared<Waiter>(executor());
    const auto answer = std::make_shared<ProbeAnswer>();
    answer_probe(front_.services, target.path, target.query, front_.connections,
                 [waiter, answer](ProbeAnswer given) {
                   *answer = std::move(given);
                   waiter->wake();
                 });
    co_await waiter->wait();
    co_return co_await respond(parser, answer->status, answer->type, answer->text);
  }

  // --- Calls.

  awaitable<bool> serve_call(const Parser& parser, const api::Match& match, const Target& target) {
    auto request = message_of(match, target.query, parser.get().body());
    if (!request) co_return co_await refuse(parser, request.error());
    const auto waiter = std::make_shared<Waiter>(executor());
    const auto call = std::make_shared<api::Call>(caller_);
    call->set_wake([waiter] { waiter->wake(); });
    match.method->run(front_.services, **request, call);
    if (answers_with_events(*match.method, **request)) {
      co_await stream_events(parser, call, *waiter);
      co_return false;
    }
    co_return co_await answer_once(parser, call, *waiter);
  }

  awaitable<bool> answer_once(const Parser& parser, const CallPtr& call, Waiter& waiter) {
    while (true) {
      const api::Call::Next next = call->next();
      if (const auto* answer = std::get_if<api::AnswerPtr>(&next)) {
        co_return co_await respond(parser, 200, "application/json", (*answer)->json());
      }
      if (const auto* end = std::get_if<api::Call::End>(&next)) {
        const Error none{Code::Internal, "there is no answer"};
        co_return co_await refuse(parser, end->error.value_or(none));
      }
      co_await waiter.wait();
    }
  }

  // The header is sent with the first message, so that an error before it has its own status.
  awaitable<void> stream_events(const Parser& parser, const CallPtr& call, Waiter& waiter) {
    api::Call::Next next = call->next();
    if (std::holds_alternative<std::monostate>(next)) {
      co_await waiter.wait(kStreamBeginsAfter);
      next = call->next();
    }
    const auto* end = std::get_if<api::Call::End>(&next);
    if (end != nullptr && end->error) {
      co_await refuse(parser, *end->error);
      co_return;
    }
    const bool begun = co_await begin_events(parser);
    if (!begun) co_return call->abandon();
    asio::co_spawn(executor(), abandon_when_closed(stream_, call), asio::detached);
    bool goes_on = true;
    while (goes_on) {
      if (std::holds_alternative<std::monostate>(next)) co_await waiter.wait();
      std::string text;
      goes_on = collect(*call, next, text);
      if (text.empty()) continue;
      const bool written = co_await write_chunk(text, *call);
      if (!written) co_return call->abandon();
    }
    beast::error_code ignored;
    lowest().expires_after(front_.limits.request_time);
    co_await asio::async_write(*stream_, wire::make_chunk_last(), into(ignored));
  }

  // What there is, up to a piece. False: nothing follows.
  static bool collect(api::Call& call, api::Call::Next& next, std::string& text) {
    while (text.size() < kPieceBytes) {
      if (const auto* answer = std::get_if<api::AnswerPtr>(&next)) {
        text += in_events(**answer);
      } else if (const auto* end = std::get_if<api::Call::End>(&next)) {
        if (end->error) text += in_events(*end->error);
        return false;
      }
      next = call.next();
      if (std::holds_alternative<std::monostate>(next)) break;
    }
    return true;
  }

  awaitable<bool> begin_events(const Parser& parser) {
    wire::response<wire::empty_body> header(wire::status::ok, parser.get().version());
    header.set(wire::field::content_type, "text/event-stream");
    header.set(wire::field::cache_control, "no-store");
    header.keep_alive(false);
    header.chunked(true);
    wire::response_serializer<wire::empty_body> serializer(header);
    lowest().expires_after(front_.limits.request_time);
    beast::error_code error;
    co_await wire::async_write_header(*stream_, serializer, into(error));
    co_return !error;
  }

  awaitable<bool> write_chunk(const std::string& text, const api::Call& call) {
    call.may_stand_still() ? lowest().expires_never()
                           : lowest().expires_after(front_.limits.request_time);
    beast::error_code error;
    co_await asio::async_write(*stream_, wire::make_chunk(asio::buffer(text)), into(error));
    co_return !error;
  }

  // Nothing more is expected from the caller: whatever comes means that it goes.
  static awaitable<void> abandon_when_closed(std::shared_ptr<Stream> stream, CallPtr call) {
    char byte = 0;
    beast::error_code error;
    beast::get_lowest_layer(*stream).expires_never();
    co_await stream->async_read_some(asio::buffer(&byte, 1), into(error));
    call->abandon();
  }

  // --- Exec.

  using Socket = websocket::stream<Stream&>;

  awaitable<void> serve_exec(const Parser& parser, const api::Match& match) {
    if (!websocket::is_upgrade(parser.get())) {
      co_await refuse(parser, 426, "InvalidInput", "this call is a WebSocket");
      co_return;
    }
    lowest().expires_never();
    const auto socket = std::make_shared<Socket>(*stream_);
    socket->set_option(websocket::stream_base::timeout{std::chrono::seconds(30),
                                                       websocket::stream_base::none(), false});
    socket->read_message_max(kExecMessageBytes);
    socket->text(true);
    beast::error_code error;
    co_await socket->async_accept(parser.get(), into(error));
    if (error) co_return;
    v1::ExecInput first;
    const auto read = co_await read_input(*socket, first);
    if (!read) co_return;
    for (const auto& [name, value] : match.fields) (void)api::set_field(first, name, value);
    const auto waiter = std::make_shared<Waiter>(executor());
    const auto call = std::make_shared<api::Call>(caller_);
    call->set_wake([waiter] { waiter->wake(); });
    match.method->run(front_.services, first, call);
    asio::co_spawn(executor(), pass_input(stream_, socket, call), asio::detached);
    co_await pass_output(*socket, call, *waiter);
  }

  static awaitable<bool> read_input(Socket& socket, v1::ExecInput& input) {
    beast::flat_buffer buffer;
    beast::error_code error;
    co_await socket.async_read(buffer, into(error));
    if (error) co_return false;
    const auto data = buffer.cdata();
    co_return read_json({static_cast<const char*>(data.data()), data.size()}, input).has_value();
  }

  // `stream` is what the socket stands on.
  static awaitable<void> pass_input(std::shared_ptr<Stream> stream, std::shared_ptr<Socket> socket,
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

  awaitable<void> pass_output(Socket& socket, const CallPtr& call, Waiter& waiter) {
    beast::error_code error;
    while (!error) {
      const api::Call::Next next = call->next();
      if (const auto* answer = std::get_if<api::AnswerPtr>(&next)) {
        const std::string& json = (*answer)->json();
        co_await socket.async_write(asio::buffer(json), into(error));
      } else if (const auto* end = std::get_if<api::Call::End>(&next)) {
        co_await say_end(socket, *end);
        break;
      } else {
        co_await waiter.wait();
      }
    }
    call->abandon();
  }

  awaitable<void> say_end(Socket& socket, const api::Call::End& end) {
    beast::error_code error;
    if (end.error) {
      v1::Output output;
      output.mutable_error()->set_reason(std::string(api::name_of(end.error->code)));
      output.mutable_error()->set_message(end.error->message);
      const std::string json = api::json_of(output);
      co_await socket.async_write(asio::buffer(json), into(error));
    }
    co_await socket.async_close(websocket::close_code::normal, into(error));
  }

  const std::shared_ptr<Stream> stream_;
  const api::Caller caller_;
  Front& front_;
  beast::flat_buffer buffer_;
};

template <class Stream>
awaitable<void> serve_session(std::shared_ptr<Stream> stream, api::Caller caller, Front& front) {
  Session<Stream> session(std::move(stream), std::move(caller), front);
  co_await session.run();
}

}  // namespace

asio::awaitable<void> serve(std::shared_ptr<UnixStream> stream, api::Caller caller, Front& front) {
  return serve_session(std::move(stream), std::move(caller), front);
}

asio::awaitable<void> serve(std::shared_ptr<TlsStream> stream, api::Caller caller, Front& front) {
  return serve_session(std::move(stream), std::move(caller), front);
}

}  // namespace berth::controld::http
