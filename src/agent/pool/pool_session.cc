#include "agent/pool/pool_session.h"

#include <algorithm>
#include <utility>

#include "base/alarms.h"

namespace berth::agent {

using model::SessionState;

PoolSession::PoolSession(model::SessionSpec spec) { kept_.session = std::move(spec); }

PoolSession::PoolSession(model::KeptSession kept) : kept_(std::move(kept)) {
  if (kept_.state == SessionState::Starting) return;
  app_ = App::Opened;
  tells_again_ = true;
  endpoints_ = Endpoints::Left;
  if (kept_.state == SessionState::Closing) ends_as_ = SessionState::Closed;
}

model::ReportedSession PoolSession::report(Time now) const {
  model::ReportedSession report{kept_.session, kept_.state, kept_.reason, kept_.clients, {}};
  report.session.data.clear();
  if (kept_.available_at) report.open_for = now - *kept_.available_at;
  return report;
}

// --- Facts -------------------------------------------------------------------------------------

void PoolSession::app_opened(const std::string& problem) {
  if (app_ != App::Told && app_ != App::Opened) return;
  app_ = App::Opened;
  if (problem.empty()) return;
  app_ = App::Closed;
  fail({"AppRefused", problem});
}

void PoolSession::app_closed() {
  app_ = App::Closed;
  if (is_ending()) return;
  ends_as_ = SessionState::Closed;
  kept_.reason = {"ClosedByApp", "its app has ended it"};
}

void PoolSession::app_counted(Time now, std::uint32_t clients) {
  if (!model::is_usable(kept_.state)) return;
  has_changed_ |= kept_.clients != clients;
  kept_.clients = clients;
  if (clients > 0) {
    claimed();
    enter(SessionState::InUse);
    kept_.idle_since.reset();
  } else if (!kept_.idle_since) {
    kept_.idle_since = now;
  }
}

void PoolSession::claimed() {
  has_changed_ |= !kept_.claimed;
  kept_.claimed = true;
}

void PoolSession::enter(SessionState state) {
  has_changed_ |= kept_.state != state;
  kept_.state = state;
}

void PoolSession::endpoints_opened(const EndpointsOpened& event) {
  if (endpoints_ != Endpoints::Asked) return;
  endpoints_ = event.problem.empty() ? Endpoints::Open : Endpoints::None;
  if (!event.problem.empty() && !event.is_taken) fail({"NoEndpoint", event.problem});
  if (!event.problem.empty()) {
    fail({"PortTaken", event.problem, model::Hindrance::PortTaken});
  }
}

void PoolSession::fail(model::Problem reason) {
  if (is_ending()) return;
  ends_as_ = SessionState::Failed;
  kept_.reason = std::move(reason);
}

void PoolSession::close(Time now, Duration grace, model::Problem reason) {
  if (is_over()) return;
  const bool is_first = !is_ending();
  if (is_first) {
    ends_as_ = SessionState::Closed;
    kept_.reason = std::move(reason);
  }
  const Time by = now + bounded(grace);
  if (is_first || !kept_.closes_by || by < *kept_.closes_by) {
    grace_ = bounded(grace);
    kept_.closes_by = by;
  }
}

void PoolSession::lose(const model::Problem& reason) {
  is_lost_ = true;
  fail(reason);
}

// --- What is next ------------------------------------------------------------------------------

bool PoolSession::advance(const Context& context, const Host& host) {
  if (!is_ending()) begin(context, host);
  if (!is_ending()) look_at_clocks(context.now);
  if (is_ending() && !is_over()) end(context, host);
  return std::exchange(has_changed_, false);
}

void PoolSession::find_ports(const Host& host) {
  for (model::SessionPort& port : kept_.session.ports) {
    const auto own = std::ranges::find(*host.ports, port.port, &model::SessionPort::port);
    if (own != host.ports->end()) port.internal = own->internal;
  }
}

void PoolSession::begin(const Context& context, const Host& host) {
  if (!host.serves) return;
  const bool restored = model::is_usable(kept_.state);
  if (host.has_app && app_ == App::Untold) {
    context.act_for_pool(OpenInApp{spec().instance, spec().ref.key.name, spec().data});
    app_ = App::Told;
  } else if (host.has_app && std::exchange(tells_again_, false)) {
    context.act_for_pool(OpenInApp{spec().instance, spec().ref.key.name, spec().data});
  }
  const bool app_is_ready = !host.has_app || app_ == App::Opened;
  if (app_is_ready && (endpoints_ == Endpoints::None || endpoints_ == Endpoints::Left)) {
    find_ports(host);
    context.act_for_pool(
        OpenEndpoints{spec().ref, spec().instance, spec().ports, host.is_elsewhere});
    endpoints_ = Endpoints::Asked;
  }
  if (endpoints_ != Endpoints::Open || restored) return;
  enter(SessionState::Available);
  kept_.available_at = context.now;
  kept_.idle_since = context.now;
}

void PoolSession::look_at_clocks(Time now) {
  if (!model::is_usable(kept_.state)) return;
  const model::SessionSpec& session = kept_.session;
  const auto is_due = [now](Time since, Duration wait) { return now >= since + bounded(wait); };
  const Duration grace = session.close_grace;
  if (session.claim > Duration{} && !kept_.claimed && is_due(*kept_.available_at, session.claim)) {
    return close(now, grace, {"NotClaimed", "nobody has come within its claim time"});
  }
  if (session.ttl && is_due(*kept_.available_at, *session.ttl)) {
    return close(now, grace, {"Expired", "its time to live is over"});
  }
  if (session.idle_timeout && kept_.idle_since &&
      is_due(*kept_.idle_since, *session.idle_timeout)) {
    close(now, grace, {"Idle", "it had no clients for its idle time"});
  }
}

// Nobody new comes in, the app has its grace, then whoever is in is cut off, and it is over.
void PoolSession::end(const Context& context, const Host& host) {
  if (*ends_as_ == SessionState::Closed) enter(SessionState::Closing);  // else it fails at once
  if (!kept_.closes_by) {
    grace_ = bounded(spec().close_grace);
    kept_.closes_by = context.now + grace_;
  }
  const bool are_open = endpoints_ == Endpoints::Open || endpoints_ == Endpoints::Left;
  if (!refuses_ && are_open) context.act_for_pool(RefuseNew{spec().ref});
  refuses_ = true;
  const bool ends_by_app = host.has_app && !is_lost_ && grace_ > Duration{};
  if (ends_by_app && (app_ == App::Told || app_ == App::Opened)) {
    context.act_for_pool(CloseInApp{spec().instance, spec().ref.key.name, grace_});
    app_ = App::ToldToClose;
  }
  const bool waits_for_app = ends_by_app && app_ == App::ToldToClose;
  const bool waits_for_its_end = host.ends_with_it && !host.has_app && !is_lost_;
  if (waits_for_app || waits_for_its_end) return;
  cut(context);
  if (endpoints_ != Endpoints::Closed) return;
  enter(*ends_as_);
  kept_.clients = 0;
}

void PoolSession::cut(const Context& context) {
  if (endpoints_ == Endpoints::None) endpoints_ = Endpoints::Closed;
  if (endpoints_ == Endpoints::Closing || endpoints_ == Endpoints::Closed) return;
  context.act_for_pool(CloseEndpoints{spec().ref, spec().instance});
  endpoints_ = Endpoints::Closing;
}

PoolSession::Stop PoolSession::wants_stop(Time now, const Host& host) const {
  if (!is_ending() || is_over() || is_lost_) return Stop::No;
  const bool app_has_it = host.has_app && app_ != App::Untold && app_ != App::Closed;
  if (app_has_it) return kept_.closes_by && now >= *kept_.closes_by ? Stop::Now : Stop::No;
  return host.ends_with_it && !host.has_app ? Stop::WithGrace : Stop::No;
}

std::optional<Time> PoolSession::due() const {
  std::optional<Time> due;
  if (is_over() || is_lost_) return due;
  if (is_ending()) return app_ == App::ToldToClose ? kept_.closes_by : std::nullopt;
  if (!model::is_usable(kept_.state)) return due;
  const model::SessionSpec& session = kept_.session;
  if (session.claim > Duration{} && !kept_.claimed) {
    take_earlier(due, *kept_.available_at + bounded(session.claim));
  }
  if (session.ttl) take_earlier(due, *kept_.available_at + bounded(*session.ttl));
  if (session.idle_timeout && kept_.idle_since) {
    take_earlier(due, *kept_.idle_since + bounded(*session.idle_timeout));
  }
  return due;
}

}  // namespace berth::agent
