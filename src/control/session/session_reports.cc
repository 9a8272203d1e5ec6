#include "control/session/session_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

using model::SessionState;

constexpr std::uint32_t kTriesMax = 16;  // of other ports, where strangers have them

}  // namespace

void SessionRoom::record(const WritesDurable& written) {
  pools_.became_durable(written.revision);
  endpoints_.became_durable(written.revision);
  for (const auto& [key, queue] : waiting_) to_serve_.insert(key);
}

void SessionRoom::disconnected(const model::NodeId& node) { pools_.disconnected(node); }

void SessionRoom::report(Context& context, const model::NodeId& id, const ObservedNode& node,
                         const model::Report& report) {
  if (!report.pool) return;
  const model::PoolReport& pool = *report.pool;
  if (report.full) {
    given_up_.erase(id);
    endpoints_.know(context, address_of(node));
    if (context.config.gateway) endpoints_.know(context, context.config.gateway->address);
    pools_.follow_documents(context);
    pools_.connected(id, *node.connection);
  }
  pools_.acted(context.now, id, pool.acted);
  // Before it is told anything because of what it says: that is not on its way for long.
  const bool is_in_step = pools_.is_in_step(id);

  std::set<model::InstanceKey> listed;
  for (const model::ReportedPoolInstance& instance : pool.instances) {
    if (!model::is_pool_instance(instance.key)) continue;
    listed.insert(instance.key);
    pools_.report(context, id, instance, is_in_step);
  }
  if (report.full) pools_.forget_unlisted(context, id, listed, is_in_step);
  std::set<model::SessionRef> shown;
  for (const model::ReportedSession& session : pool.sessions) {
    if (!model::is_pool_instance(session.session.instance)) continue;
    shown.insert(session.session.ref);
    this->report(context, id, session);
  }
  end_lost(context);  // nobody is told of them any more, also if nothing is decided yet
  if (!report.full) return;
  if (is_in_step) look_for_unlisted(context, id, shown);
  look_for_unlisted_forwards(context, id, shown, is_in_step);
}

// What was told on an earlier connection and has not come is told again; what was there is gone.
void SessionRoom::look_for_unlisted(Context& context, const model::NodeId& node,
                                    const std::set<model::SessionRef>& listed) {
  std::vector<model::SessionRef> missing;
  for (const model::InstanceKey& key : pools_.on(node)) {
    for (const model::SessionRef& ref : pools_.find_member(key)->sessions) {
      if (!listed.contains(ref)) missing.push_back(ref);
    }
  }
  release_lingering(node, listed);
  for (const model::SessionRef& ref : missing) {
    if (Session* session = sessions_.find(ref)) {
      if (session->state == SessionState::Starting) {
        send_open(*session, node);
      } else {
        end(context, *session, SessionState::Failed,
            {"Vanished", "its node does not have it any more"});
      }
    }
  }
}

void SessionRoom::release_lingering(const model::NodeId& node,
                                    const std::set<model::SessionRef>& but_these) {
  for (auto next = lingering_.begin(); next != lingering_.end();) {
    const auto held = next++;
    if (held->second.node != node || but_these.contains(held->first)) continue;
    const auto released = lingering_.extract(held);
    release(released.key(), released.mapped());
  }
}

// It is over for its caller: its instance is not used again before its agent has closed it.
void SessionRoom::report_lingering(const model::NodeId& node, const Lingering& held,
                                   const model::ReportedSession& reported) {
  const model::SessionRef ref = reported.session.ref;
  if (model::is_over(reported.state)) {
    const Lingering released = held;
    lingering_.erase(ref);
    return release(ref, released);
  }
  if (pools_.find_member(held.instance) != nullptr) pools_.bind(held.instance, ref);
  if (reported.state == SessionState::Closing || !pools_.can_be_told(node)) return;
  pools_.tell(node, model::CloseSession{ref,
                                        held.instance,
                                        reported.session.close_grace,
                                        {"NotWanted", "nobody waits for it any more"}});
}

void SessionRoom::report(Context& context, const model::NodeId& node,
                         const model::ReportedSession& reported) {
  if (is_forward(context, node, reported.session)) return report_forward(context, reported);
  // Nobody speaks for the instance of another node.
  const PoolMember* member = pools_.find_member(reported.session.instance);
  if (member != nullptr && (!member->place || member->place->node != node)) return;
  const auto lingering = lingering_.find(reported.session.ref);
  if (lingering != lingering_.end()) {
    if (lingering->second.node != node) return;
    return report_lingering(node, lingering->second, reported);
  }
  Session* asked = model::is_over(reported.state) ? nullptr : find_asked(reported.session);
  if (asked != nullptr) return recognise(context, node, *asked, reported);
  Session* session = sessions_.find(reported.session.ref);
  if (session == nullptr) return adopt(context, node, reported);
  if (session->is_over()) return let_linger(node, reported);
  if (session->spec.instance != reported.session.instance) return;
  const bool counts_others = std::exchange(session->clients, reported.clients) != reported.clients;
  if (model::is_over(reported.state)) return report_end(context, *session, reported);
  if (session->state == SessionState::Closing) {
    if (reported.state != SessionState::Closing) {
      close(context, *session, session->spec.close_grace, session->reason);
    }
    return;
  }
  // It cannot be opened: its end tells why, unless its deadline comes before.
  if (session->is_opening() && reported.state == SessionState::Closing) return;
  if (reported.state == session->state) {
    if (counts_others) shown(context, *session);
    return;
  }
  const bool was_opening = session->is_opening();
  for (std::size_t i = 0; i < std::min(session->spec.ports.size(), reported.session.ports.size());
       ++i) {
    session->spec.ports[i].internal = reported.session.ports[i].internal;
  }
  const GatewayForwards::Forward* forward = forwards_.find(session->spec.ref);
  if (was_opening && forward != nullptr && !forward->is_open) {
    session->served_as = reported.state;
    return;
  }
  session->state = reported.state;
  session->reason = reported.reason;
  if (was_opening && model::is_usable(reported.state)) return become_available(context, *session);
  shown(context, *session);
}

// Its node was given up, and has it still: it is not what it was to anybody.
void SessionRoom::let_linger(const model::NodeId& node, const model::ReportedSession& reported) {
  const model::SessionSpec& spec = reported.session;
  if (!model::is_over(reported.state)) let_linger(node, reported, take_ports(spec.ports));
}

void SessionRoom::let_linger(const model::NodeId& node, const model::ReportedSession& reported,
                             std::vector<model::SessionPort> ports) {
  const model::SessionSpec& spec = reported.session;
  const auto held =
      lingering_.insert_or_assign(spec.ref, Lingering{spec.instance, node, std::move(ports)}).first;

  report_lingering(node, held->second, reported);
}

// Those that another session has by now are that one's.
std::vector<model::SessionPort> SessionRoom::take_ports(
    const std::vector<model::SessionPort>& ports) {
  std::set<std::uint16_t> taken;
  std::vector<model::SessionPort> held;
  for (const model::SessionPort& port : ports) {
    const bool is_known = taken.contains(port.external);
    if (!is_known && !endpoints_.take(port.external_address, port.external)) continue;
    taken.insert(port.external);
    held.push_back(port);
  }
  return held;
}

void SessionRoom::report_end(Context& context, Session& session,
                             const model::ReportedSession& reported) {
  const bool port_is_taken = reported.reason.hindrance == model::Hindrance::PortTaken;
  const std::vector<model::SessionPort> ports = session.spec.ports;
  const bool may_try_again = port_is_taken && session.state == SessionState::Starting &&
                             session.spec.ref.incarnation % kTriesMax != 0;
  may_try_again ? try_again(session) : end(context, session, reported.state, reported.reason);
  if (!port_is_taken) return;
  for (const model::SessionPort& port : ports) {
    endpoints_.set_aside(port.external_address, port.external);
  }
}

// With other ports, before all that wait.
void SessionRoom::try_again(Session& session) {
  forwards_.end(session.spec.ref);
  release(session.spec.ref, {session.spec.instance, {}, session.spec.ports});
  ++session.spec.ref.incarnation;
  session.state = SessionState::Pending;
  session.spec.instance = {};
  session.spec.ports.clear();
  waiting_[session.application].push_front(session.spec.ref.key);
}

// Of an earlier life of the control plane.
void SessionRoom::adopt(Context& context, const model::NodeId& node,
                        const model::ReportedSession& reported) {
  const model::SessionSpec& spec = reported.session;
  if (model::is_over(reported.state) || !model::is_pool_instance(spec.instance)) return;
  const PoolMember* member = pools_.find_member(spec.instance);
  const Session* known = sessions_.find(spec.ref.key);
  const bool is_free = member != nullptr && (known == nullptr || known->is_over());
  std::vector<model::SessionPort> ports = take_ports(spec.ports);
  if (!is_free || ports.size() != spec.ports.size()) {
    return let_linger(node, reported, std::move(ports));
  }

  Session session;
  session.spec = spec;
  session.application = model::application_of(spec.instance);
  session.state = reported.state;
  session.reason = reported.reason;
  session.clients = reported.clients;
  session.created = session.deadline = context.now;
  if (const auto* application = context.state.find<model::Application>(session.application)) {
    session.deadline = context.now + bounded(application->sessions.open_timeout);
    session.keep_finished = application->sessions.keep_finished;
  }
  if (model::is_usable(reported.state)) session.available = context.now - reported.open_for;
  session.was_available = session.available.has_value();
  if (const auto* forward = forwards_.find(spec.ref)) session.outside = forward->ports;
  pools_.bind(spec.instance, spec.ref);
  const std::uint32_t incarnation = spec.ref.incarnation;
  Session& added = sessions_.add(std::move(session));
  added.spec.ref.incarnation = incarnation;
  shown(context, added);
}

// Who asked for it in an earlier life of the control plane has asked again, and waits since.
Session* SessionRoom::find_asked(const model::SessionSpec& reported) {
  Session* asked = sessions_.find(reported.ref.key);
  if (asked == nullptr && !reported.request_id.empty()) {
    asked = sessions_.find(Sessions::Request{model::application_of(reported.instance),
                                             reported.caller, reported.request_id});
  }
  const bool waits = asked != nullptr && asked->state == SessionState::Pending &&
                     asked->spec.ref.incarnation <= reported.ref.incarnation;
  return waits ? asked : nullptr;
}

void SessionRoom::recognise(Context& context, const model::NodeId& node, Session& asked,
                            const model::ReportedSession& reported) {
  const model::SessionKey key = reported.session.ref.key;
  const bool is_theirs = asked.spec.caller == reported.session.caller &&
                         asked.application == model::application_of(reported.session.instance);
  const std::vector<CallId> calls = asked.opening;
  const Time deadline = asked.deadline;
  stop_waiting(asked);
  sessions_.erase(model::SessionKey(asked.spec.ref.key));
  adopt(context, node, reported);
  Session* adopted = sessions_.find(key);
  if (is_theirs && adopted != nullptr && adopted->is_opening()) {
    sessions_.set_deadline(*adopted, deadline);
  }
  for (const CallId call : calls) {
    if (is_theirs && adopted != nullptr) {
      attach(context, *adopted, call);
    } else {
      callers_.erase(call);
      context.effects.session_replies.push_back({call, already_exists(key)});
    }
  }
}

void SessionRoom::become_available(Context& context, Session& session) {
  session.available = context.now;
  session.was_available = true;
  sessions_.opened(session);
  context.note(NoteKind::SessionOpened, "session/" + model::to_string(session.spec.ref.key),
               "on " + model::to_string(session.spec.instance));
  shown(context, session);
  answer(context, session);
}

}  // namespace berth::control
