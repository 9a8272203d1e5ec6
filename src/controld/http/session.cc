#include "controld/http/session.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <utility>

#include "controld/api/methods.h"
#include "controld/http/exec.h"
#include "controld/http/probes.h"
#include "controld/http/request.h"
#include "controld/http/waiter.h"

namespace berth::controld::http {
namespace {

namespace wire = beast::http;
namespace websocket = beast::websocket;

using Parser = wire::request_parser<wire::string_body>;
using api::CallPtr;
using asio::awaitable;

constexpr std::size_t kPieceBytes = 64 * 1024;  // of events that are written at once
constexpr Duration kStreamBeginsAfter = 1s;     // at the latest, so that callers know it does
constexpr Duration kLookForCallerEvery = 500ms;
constexpr Duration kProbePatience = 2s;  // what has not answered by then does not turn

std::string in_events(const api::Answer& answer) { return "data: " + answer.json() + "\n\n"; }

std::string in_events(const Error& error) {
  return "event: error\ndata: " + error_json(api::name_of(error.code), error.message) + "\n\n";
}

class Session {
 public:
  Session(std::shared_ptr<Stream> stream, api::Caller caller, Front& front)
      : stream_(std::move(stream)), caller_(std::move(caller)), front_(front) {}

  awaitable<void> run() {
    bool goes_on = true;
    while (goes_on) goes_on = co_await serve_one();
    stream_->close();
  }

 private:
  auto executor() { return stream_->get_executor(); }

  Duration request_time() const {
    const Limits& limits = front_.limits;
    return caller_.identity ? limits.request_time
                            : std::min(limits.request_time, limits.stranger_time);
  }

  // Not just that somebody has left.
  static bool is_no_http(const beast::error_code& error) {
    return error && error.category() == make_error_code(wire::error::bad_method).category() &&
           error != wire::error::end_of_stream && error != wire::error::partial_message;
  }

  // Whether another request may follow.
  awaitable<bool> serve_one() {
    Parser parser;
    parser.header_limit(front_.limits.header_bytes);
    parser.body_limit(boost::none);  // the limit depends on the call, which is not known yet
    stream_->expires_after(caller_.identity ? front_.limits.idle_time : request_time());
    beast::error_code error;
    co_await wire::async_read_header(*stream_, buffer_, parser, into(error));
    if (error == wire::error::header_limit) {
      co_await refuse(parser, 431, "InvalidInput", "the header is too large");
    } else if (is_no_http(error)) {
      co_await refuse(parser, 400, "InvalidInput", "the request is no HTTP: " + error.message());
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
      co_await upgrade_to_exec(parser, match);
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

  awaitable<bool> respond(const Parser& parser, int status, std::string type, std::string body,
                          std::optional<Duration> retry_after = std::nullopt) {
    wire::response<wire::string_body> response(static_cast<wire::status>(status),
                                               parser.get().version());
    if (retry_after) {
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(*retry_after).count();
      response.set(wire::field::retry_after, std::to_string(seconds));
    }
    response.set(wire::field::content_type, type);
    response.set(wire::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.keep_alive(parser.get().keep_alive() && parser.is_done());
    response.body() = std::move(body);
    if (parser.get().method() == wire::verb::head) response.body().clear();
    response.prepare_payload();
    stream_->expires_after(request_time());
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

  awaitable<bool> refuse(const Parser& parser, const api::Call::End& end) {
    const Error error = end.error.value_or(Error{Code::Internal, "there is no answer"});
    const api::Particulars& more = end.particulars;
    const int status = more.http_status == 0 ? api::http_status_of(error.code) : more.http_status;
    return respond(parser, status, "application/json",
                   error_json(api::name_of(error.code), error.message, more) + "\n",
                   more.retry_after);
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

  std::string_view advice_for_strangers() const {
    if (stream_->is_local()) {
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
    stream_->expires_after(request_time());
    beast::error_code error;
    if (view(parser.get()[wire::field::expect]) == "100-continue") {
      wire::response<wire::empty_body> go_on(wire::status::continue_, parser.get().version());
      co_await wire::async_write(*stream_, go_on, into(error));
      if (error) co_return false;
    }
    parser.body_limit(limit);
    while (!parser.is_done()) {  // who is known and sends steadily may take its time
      if (caller_.identity) stream_->expires_after(request_time());
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
    const auto inquiry =
        std::make_shared<Inquiry>(target.path, target.query, [waiter] { waiter->wake(); });
    inquire(front_.services, inquiry, front_.connections);
    co_await waiter->wait(kProbePatience);
    const ProbeAnswer answer = inquiry->answer(front_.services, front_.troubles);
    co_return co_await respond(parser, answer.status, answer.type, answer.text);
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

  // A caller who leaves while it waits is not worked for any more.
  awaitable<bool> answer_once(const Parser& parser, const CallPtr& call, Waiter& waiter) {
    for (bool has_waited = false;; has_waited = true) {
      const api::Call::Next next = call->next();
      if (const auto* answer = std::get_if<api::AnswerPtr>(&next)) {
        co_return co_await respond(parser, 200, "application/json", (*answer)->json());
      }
      if (const auto* end = std::get_if<api::Call::End>(&next)) {
        co_return co_await refuse(parser, *end);
      }
      if (has_waited && stream_->has_left()) {
        call->abandon();
        co_return false;
      }
      co_await waiter.wait(kLookForCallerEvery);
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
      co_await refuse(parser, *end);
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
    stream_->expires_after(request_time());
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
    stream_->expires_after(request_time());
    beast::error_code error;
    co_await wire::async_write_header(*stream_, serializer, into(error));
    co_return !error;
  }

  awaitable<bool> write_chunk(const std::string& text, const api::Call& call) {
    call.may_stand_still() ? stream_->expires_never() : stream_->expires_after(request_time());
    beast::error_code error;
    co_await asio::async_write(*stream_, wire::make_chunk(asio::buffer(text)), into(error));
    co_return !error;
  }

  // Nothing more is expected from the caller: whatever comes means that it goes.
  static awaitable<void> abandon_when_closed(std::shared_ptr<Stream> stream, CallPtr call) {
    char byte = 0;
    beast::error_code error;
    stream->expires_never();
    co_await stream->async_read_some(asio::buffer(&byte, 1), into(error));
    call->abandon();
  }

  awaitable<void> upgrade_to_exec(const Parser& parser, const api::Match& match) {
    if (websocket::is_upgrade(parser.get())) {
      co_await serve_exec(stream_, parser.get(), match, caller_, front_);
    } else {
      co_await refuse(parser, 426, "InvalidInput", "this call is a WebSocket");
    }
  }

  const std::shared_ptr<Stream> stream_;
  const api::Caller caller_;
  Front& front_;
  beast::flat_buffer buffer_;
};

}  // namespace

awaitable<void> serve(std::shared_ptr<Stream> stream, api::Caller caller, Front& front) {
  Session session(std::move(stream), std::move(caller), front);
  co_await session.run();
}

}  // namespace berth::controld::http
