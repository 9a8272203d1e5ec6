#include "control/session/session_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

using model::SessionState;

constexpr std::uint32_t kFailuresMax = 3;  // in a row, of one that is opened again when it fails

}  // namespace

void SessionRoom::record(Context& context, const CloseSessionCall& call) {
  Session* session = sessions_.find(call.session);
  if (session == nullptr) {
    context.effects.session_replies.push_back(
        {call.call, Error{Code::NotFound, "no session " + model::to_string(call.session)}});
    return;
  }
  session->closing.push_back(call.call);
  if (session->is_over()) return answer(context, *session);
  close(context, *session, call.grace.value_or(session->spec.close_grace),
        {"ClosedByCaller", "somebody has closed it"});
}

void SessionRoom::record(Context& context, const SessionCallerGone& gone) {
  const auto caller = callers_.find(gone.call);
  if (caller == callers_.end()) return;
  const model::SessionKey key = caller->second;
  callers_.erase(caller);
  Session* session = sessions_.find(key);
  if (session == nullptr) return;
  std::erase(session->opening, gone.call);
  if (!session->is_opening() || !session->opening.empty()) return;
  close(context, *session, session->spec.close_grace, {"Cancelled", "its caller has gone away"});
}

void SessionRoom::close(Context& context, Session& session, Duration grace,
                        const model::Problem& why) {
  if (session.is_over()) return;
  if (session.state == SessionState::Pending) {
    return end(context, session, SessionState::Closed, {"Cancelled", why.message});
  }
  const PoolMember* member = pools_.find_member(session.spec.instance);
  if (member == nullptr) return end(context, session, SessionState::Closed, why);
  if (session.state != SessionState::Closing) {
    session.state = SessionState::Closing;
    session.reason = why;
    shown(context, session);
    answer(context, session);  // whoever waits to use it need not wait for its end
  }
  if (pools_.can_be_told(member->place->node)) {
    pools_.tell(member->place->node,
                model::CloseSession{session.spec.ref, session.spec.instance, grace, why});
  }
}

// Its name, its ports and its slot are free from now on.
void SessionRoom::end(Context& context, Session& session, SessionState state, model::Problem why,
                      const std::optional<model::NodeId>& lingers_on) {
  if (session.is_over()) return;
  if (session.state == SessionState::Pending) stop_waiting(session);
  const bool was_closing = session.state == SessionState::Closing;
  session.state = was_closing && state == SessionState::Failed ? SessionState::Closed : state;
  if (!was_closing || session.reason.reason.empty()) session.reason = std::move(why);
  session.ended = context.now;
  session.clients = 0;
  forwards_.end(session.spec.ref);
  if (lingers_on && !session.spec.instance.item.empty()) {
    lingering_.insert_or_assign(session.spec.ref,
                                Lingering{session.spec.instance, *lingers_on, session.spec.ports});
  } else if (!session.spec.instance.item.empty()) {
    release(session.spec.ref, {session.spec.instance, {}, session.spec.ports});
  }
  sessions_.ended(session);
  context.note(NoteKind::SessionEnded, "session/" + model::to_string(session.spec.ref.key),
               fmt::format("{}{}{}", model::to_string(session.state),
                           session.reason.reason.empty() ? "" : ": ", session.reason.reason));
  shown(context, session);
  answer(context, session);
  const bool was_lost = session.was_available && !session.spec.instance.item.empty();
  if (session.state == SessionState::Failed && session.spec.reopen && was_lost) {
    reopen(context, session);
  }
}

void SessionRoom::release(const model::SessionRef& ref, const Lingering& held) {
  if (!forwards_.keep_behind(ref, held.ports)) release_ports(held.ports);
  pools_.unbind(held.instance, ref);
  to_serve_.insert(model::application_of(held.instance));
}

// Those of TCP and UDP are one.
void SessionRoom::release_ports(const std::vector<model::SessionPort>& ports) {
  std::set<std::uint16_t> released;
  for (const model::SessionPort& port : ports) {
    if (!released.insert(port.external).second) continue;
    endpoints_.release(port.external_address, port.external);
  }
}

// Under the same name, before all that come later.
void SessionRoom::reopen(Context& context, const Session& lost) {
  const auto* application = context.state.find<model::Application>(lost.application);
  // What fails wherever it is opened would take one instance with it after the other.
  const std::uint32_t failures = lost.available ? 0 : lost.failed_before + 1;
  if (application == nullptr || failures >= kFailuresMax) return;
  Session again = lost;
  again.failed_before = failures;
  again.state = SessionState::Pending;
  again.reason = {};
  again.spec.instance = {};
  again.spec.ports.clear();
  again.opening.clear();
  again.closing.clear();
  again.available.reset();
  again.ended.reset();
  again.outside.clear();
  again.served_as.reset();
  again.created = context.now;
  again.deadline = context.now + bounded(application->sessions.open_timeout);
  const Session& added = sessions_.add(std::move(again));
  waiting_[added.application].push_back(added.spec.ref.key);
  to_serve_.insert(added.application);
}

void SessionRoom::answer(Context& context, Session& session) {
  const model::SessionStatus status = status_of(context, session);
  const auto tell = [&](std::vector<CallId>& calls) {
    for (const CallId call : std::exchange(calls, {})) {
      callers_.erase(call);
      context.effects.session_replies.push_back({call, status});
    }
  };
  if (!session.is_opening()) tell(session.opening);
  if (session.is_over()) tell(session.closing);
}

}  // namespace berth::control
