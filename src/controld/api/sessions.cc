#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "controld/api/calls.h"
#include "controld/api/messages.h"
#include "controld/api/methods.h"

// Sessions: opened, closed and looked at. Nothing of it is durable, and nothing waits for a disk.
namespace berth::controld::api {
namespace {

constexpr std::int64_t kLongestMs = 365LL * 24 * 3600 * 1000;
constexpr std::size_t kListedByDefault = 1'000;
constexpr std::size_t kListedMost = 100'000;
constexpr Duration kRetryOwnOpens = 100ms;

// A failed open or close, as it is told.
struct Told {
  Error error;
  Particulars particulars = {};
};

// Who has opened a session, and gets it again by asking again: also with a newer certificate.
std::string opener_of(const Caller& caller) {
  if (!caller.identity) return "";
  return fmt::format("{}/{}", trust::to_string(caller.identity->role), caller.identity->name);
}

std::string or_default(const std::string& ns) {
  return ns.empty() ? model::Namespace::kDefault : ns;
}

Result<void> check_namespace(const Caller& caller, const std::string& ns) {
  if (may_use_namespace(caller, ns)) return {};
  return Error{Code::Conflict, fmt::format("{} may not use sessions of namespace {}",
                                           trust::to_string(*caller.identity), ns)};
}

Particulars forbidden() { return {.word = "Forbidden", .http_status = 403}; }

Result<std::optional<Duration>> time_of(bool is_given, std::int64_t ms, std::string_view what,
                                        std::int64_t least) {
  if (!is_given) return std::optional<Duration>();
  if (ms < least || ms > kLongestMs) {
    return invalid_input(fmt::format("{} must be {} to {} milliseconds", what, least, kLongestMs));
  }
  return std::optional<Duration>(std::chrono::milliseconds(ms));
}

Result<control::OpenSessionCall> open_call_of(const v1::OpenSessionRequest& request,
                                              const Caller& caller) {
  constexpr std::size_t kRequestIdMax = 256;
  control::OpenSessionCall open;
  open.application = {or_default(request.namespace_()), request.application()};
  open.name = request.name();
  open.request_id = request.request_id();
  open.caller = opener_of(caller);
  open.data = request.data();
  open.timeout = TRY(time_of(request.has_timeout_ms(), request.timeout_ms(), "timeoutMs", 1));
  open.ttl = TRY(time_of(request.has_ttl_ms(), request.ttl_ms(), "ttlMs", 1));
  if (request.has_reopen()) open.reopen = request.reopen();
  if (open.application.name.empty()) return invalid_input("which application?");
  if (open.request_id.size() > kRequestIdMax) {
    return invalid_input(fmt::format("a request id has {} bytes at most", kRequestIdMax));
  }
  return open;
}

Told busy_for(Duration retry_after, const std::string& why) {
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(retry_after);
  return {{Code::Unavailable, fmt::format("busy: {}; try again in {} ms", why, wait.count())},
          {.word = "Busy", .http_status = 503, .retry_after = retry_after}};
}

// Why it cannot be used.
Told ended(const model::SessionStatus& status) {
  const std::string why = status.reason.message.empty()
                              ? status.reason.reason
                              : fmt::format("{}: {}", status.reason.reason, status.reason.message);
  const auto told = [&](Code code, std::string_view word, int http_status, std::string_view what) {
    const std::string colon = why.empty() ? "" : ": ";
    return Told{{code, fmt::format("session {} {}{}{}", model::to_string(status.ref.key), what,
                                   colon, why)},
                {.word = std::string(word),
                 .http_status = http_status,
                 .about = "session",
                 .what = answer_of(api::to_message(status))}};
  };
  switch (status.state) {
    // As with all that takes too long: DEADLINE_EXCEEDED.
    case model::SessionState::Timeout:
      return told(Code::NotDurable, "Timeout", 504, "was not available in time");
    case model::SessionState::Failed: return told(Code::Unavailable, "Failed", 503, "has failed");
    case model::SessionState::Closing:
      return told(Code::Conflict, "Closed", 409, "is being closed");
    default: return told(Code::Conflict, "Closed", 409, "is closed");
  }
}

// What the one who opens is told: the session, or why there is none.
using Opened = std::variant<model::SessionStatus, Told>;

Opened opened_by(const Loop::SessionAnswer& answer) {
  if (const auto* busy = std::get_if<control::SessionBusy>(&answer)) {
    return busy_for(busy->retry_after, busy->why);
  }
  if (const auto* error = std::get_if<Error>(&answer)) return Told{*error};
  const auto& status = std::get<model::SessionStatus>(answer);
  if (!model::is_usable(status.state)) return ended(status);
  return status;
}

// Asks for it, within what one caller may have waiting. `then` is called once, unless it is
// abandoned before; nullopt: it was called already.
std::optional<control::CallId> open(const Services& services, const Caller& caller,
                                    const v1::OpenSessionRequest& request,
                                    const std::function<void(Opened)>& then) {
  auto wanted = open_call_of(request, caller);
  if (!wanted) {
    then(Told{wanted.error()});
    return std::nullopt;
  }
  if (const auto allowed = check_namespace(caller, wanted->application.ns); !allowed) {
    then(Told{allowed.error(), forbidden()});
    return std::nullopt;
  }
  const std::shared_ptr<WaitingOpens> waiting = services.waiting_opens;
  const std::string name = wanted->caller;
  if (!waiting->enter(name)) {
    then(busy_for(kRetryOwnOpens,
                  fmt::format("{} opens of {} wait already", waiting->most(), name)));
    return std::nullopt;
  }
  // It leaves when nobody can be told any more, or all were.
  const std::shared_ptr<void> place(nullptr, [waiting, name](void*) { waiting->leave(name); });
  return services.loop.call_session(
      [&](control::CallId id) {
        wanted->call = id;
        return control::Event(*std::move(wanted));
      },
      [then, place](const Loop::SessionAnswer& answer) { then(opened_by(answer)); });
}

// --- A stream of opens.

v1::OpenSessionsReply reply_of(std::uint64_t id, const Opened& opened) {
  v1::OpenSessionsReply reply;
  reply.set_id(id);
  if (const auto* status = std::get_if<model::SessionStatus>(&opened)) {
    *reply.mutable_session() = api::to_message(*status);
    return reply;
  }
  const auto& [error, particulars] = std::get<Told>(opened);
  v1::SessionFailure& failure = *reply.mutable_failure();
  failure.set_code(particulars.word.empty() ? std::string(name_of(error.code)) : particulars.word);
  failure.set_message(error.message);
  if (particulars.retry_after) {
    failure.set_retry_after_ms(
        std::chrono::ceil<std::chrono::milliseconds>(*particulars.retry_after).count());
  }
  if (particulars.what) {
    failure.mutable_session()->CopyFrom(
        static_cast<const v1::Session&>(particulars.what->message()));
  }
  return reply;
}

// Lives while its call does, and while somebody may still be answered.
class OpenStream : public std::enable_shared_from_this<OpenStream> {
 public:
  OpenStream(const Services& services, CallPtr call)
      : services_(services), call_(std::move(call)) {}

  void begin(const v1::OpenSessionsRequest& first) {
    call_->when_over([self = shared_from_this()] { self->abandon(); });
    take(first);
    call_->when_input([weak = weak_from_this()](const Message* message) {
      const auto self = weak.lock();
      if (!self) return;
      if (message == nullptr) return self->end_of_input();
      self->take(static_cast<const v1::OpenSessionsRequest&>(*message));
    });
  }

 private:
  void take(const v1::OpenSessionsRequest& request) {
    const std::uint64_t turn = begin_turn();
    const auto call = open(services_, call_->caller(), request.open(),
                           [self = shared_from_this(), turn, id = request.id()](
                               const Opened& opened) { self->tell(turn, reply_of(id, opened)); });
    if (call) keep(turn, *call);
  }

  std::uint64_t begin_turn() {
    const std::lock_guard lock(mutex_);
    ++unanswered_;
    waiting_.emplace(++last_turn_, std::nullopt);
    return last_turn_;
  }

  // It may have been answered by now, or the caller may be gone.
  void keep(std::uint64_t turn, control::CallId call) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = waiting_.find(turn);
      if (found != waiting_.end()) found->second = call;
      if (!is_over_) return;
    }
    services_.loop.abandon_session_call(call);
  }

  void tell(std::uint64_t turn, v1::OpenSessionsReply reply) {
    const std::size_t bytes = reply.ByteSizeLong();
    call_->send(answer_of(std::move(reply)), bytes);  // or it is cut off, and nobody is told
    bool is_last = false;
    {
      const std::lock_guard lock(mutex_);
      waiting_.erase(turn);
      is_last = --unanswered_ == 0 && has_ended_;
    }
    if (is_last) call_->finish();
  }

  void end_of_input() {
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
      if (unanswered_ > 0) return;
    }
    call_->finish();
  }

  void abandon() {
    std::map<std::uint64_t, std::optional<control::CallId>> waiting;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      waiting.swap(waiting_);
    }
    for (const auto& [turn, call] : waiting) {
      if (call) services_.loop.abandon_session_call(*call);
    }
  }

  const Services& services_;
  const CallPtr call_;
  std::mutex mutex_;  // guards what follows
  std::map<std::uint64_t, std::optional<control::CallId>> waiting_;
  std::uint64_t last_turn_ = 0;
  std::size_t unanswered_ = 0;
  bool has_ended_ = false;  // the caller asks for no more
  bool is_over_ = false;
};

// --- Looking.

bool is_meant(const control::Session& session, const v1::ListSessionsRequest& request,
              const Caller& caller) {
  return (request.application().empty() || request.application() == session.application.name) &&
         (request.state().empty() || request.state() == model::to_string(session.state)) &&
         may_use_namespace(caller, session.spec.ref.key.ns);
}

std::size_t limit_of(const v1::ListSessionsRequest& request) {
  if (request.limit() == 0) return kListedByDefault;
  return std::min<std::size_t>(request.limit(), kListedMost);
}

// One more than that shows that there are more.
v1::Sessions listed(const std::vector<model::SessionStatus>& statuses, std::size_t limit) {
  v1::Sessions answer;
  answer.set_more(statuses.size() > limit);
  for (std::size_t i = 0; i < std::min(limit, statuses.size()); ++i) {
    *answer.add_sessions() = api::to_message(statuses[i]);
  }
  return answer;
}

Result<void> check_session_state(const std::string& state) {
  if (state.empty() || model::from_string<model::SessionState>(state)) return {};
  return invalid_input(
      fmt::format("\"{}\" is no state (pending, starting, available, in-use, "
                  "closing, closed, timeout, failed)",
                  state));
}

}  // namespace

void open_session(const Services& services, const v1::OpenSessionRequest& request,
                  const CallPtr& call) {
  const auto id = open(services, call->caller(), request, [call](const Opened& opened) {
    if (const auto* status = std::get_if<model::SessionStatus>(&opened)) {
      return call->answer(answer_of(api::to_message(*status)));
    }
    const auto& [error, particulars] = std::get<Told>(opened);
    call->fail(error, particulars);
  });
  if (!id) return;
  // Does nothing if it was answered.
  call->when_over([&services, id = *id] { services.loop.abandon_session_call(id); });
}

void open_sessions(const Services& services, const v1::OpenSessionsRequest& first,
                   const CallPtr& call) {
  std::make_shared<OpenStream>(services, call)->begin(first);
}

void close_session(const Services& services, const v1::CloseSessionRequest& request,
                   const CallPtr& call) {
  const std::string ns = or_default(request.namespace_());
  if (const auto allowed = check_namespace(call->caller(), ns); !allowed) {
    return call->fail(allowed.error(), forbidden());
  }
  auto grace = time_of(request.has_grace_ms(), request.grace_ms(), "graceMs", 0);
  if (!grace) return call->fail(grace.error());
  if (request.now()) *grace = Duration{};
  const auto id = services.loop.call_session(
      [&](control::CallId given) {
        return control::CloseSessionCall{given, {ns, request.name()}, *grace};
      },
      [call](const Loop::SessionAnswer& answer) {
        if (const auto* error = std::get_if<Error>(&answer)) return call->fail(*error);
        if (const auto* status = std::get_if<model::SessionStatus>(&answer)) {
          call->answer(answer_of(api::to_message(*status)));
        }
      });
  // Who leaves does not want it open again; only the answer is not needed.
  call->when_over([&services, id] { services.loop.abandon_session_call(id); });
}

void get_session(const Services& services, const v1::GetSessionRequest& request,
                 const CallPtr& call) {
  const model::SessionKey key{or_default(request.namespace_()), request.name()};
  if (const auto allowed = check_namespace(call->caller(), key.ns); !allowed) {
    return call->fail(allowed.error(), forbidden());
  }
  const auto look_at = [call, key](const control::Controller& controller) {
    const auto status = controller.status_of(key);
    if (!status) return call->fail(not_found("there is no session " + model::to_string(key)));
    call->answer(answer_of(api::to_message(*status)));
  };
  if (!services.loop.post(Loop::Query(look_at))) call->fail(busy());
}

void list_sessions(const Services& services, const v1::ListSessionsRequest& request,
                   const CallPtr& call) {
  if (const auto checked = check_session_state(request.state()); !checked) {
    return call->fail(checked.error());
  }
  if (!request.namespace_().empty()) {
    const auto allowed = check_namespace(call->caller(), request.namespace_());
    if (!allowed) return call->fail(allowed.error(), forbidden());
  }
  const auto look_at = [&services, call, request](const control::Controller& controller) {
    const std::size_t limit = limit_of(request);
    const auto meant = [&](const control::Session& session) {
      return is_meant(session, request, call->caller());
    };
    work(services, call,
         [call, limit,
          statuses = controller.session_statuses({request.namespace_(), meant, limit + 1})] {
           call->answer(answer_of(listed(statuses, limit)));
         });
  };
  if (!services.loop.post(Loop::Query(look_at))) call->fail(busy());
}

}  // namespace berth::controld::api
