#include "control/session/session_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

using model::SessionState;
using Stage = PoolMember::Stage;

constexpr Duration kLeastRetry = 100ms;
constexpr Duration kLongestRetry = 30s;

constexpr std::uint32_t kTriesMax = 16;    // of other ports, where strangers have them
constexpr std::uint32_t kFailuresMax = 3;  // in a row, of one that is opened again when it fails
constexpr std::size_t kNameMax = 63;
constexpr std::size_t kRequestIdMax = 256;

std::optional<Error> wrong_with_name(const std::string& name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  const auto is_plain = [&](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; };
  const bool begins_well = name.empty() || is_alphanumeric(name.front());
  if (name.size() <= kNameMax && begins_well && std::ranges::all_of(name, is_plain)) {
    return std::nullopt;
  }
  return Error{Code::InvalidInput,
               "the name of a session has at most 63 small letters, digits, '-' and '.', and "
               "begins with a letter or digit"};
}

// A number of ports that are one from outside: the same for TCP and UDP.
std::vector<std::uint16_t> exposed_numbers(const model::Item& item) {
  std::set<std::uint16_t> numbers;
  for (const model::Port& port : item.ports) numbers.insert(port.number);
  return {numbers.begin(), numbers.end()};
}

bool is_heard(const Context& context, const model::NodeId& id) {
  const auto node = context.nodes.find(id);
  return node != context.nodes.end() && node->second.reachable();
}

Error already_exists(const model::SessionKey& key) {
  return {Code::Conflict, fmt::format("a session {} is open already, by somebody else or of "
                                      "another application; choose another name",
                                      model::to_string(key))};
}

}  // namespace

void SessionRoom::restore(const Step& step) {
  pools_.restore(step);
  endpoints_.restore(step);
}

std::string SessionRoom::address_of(const ObservedNode& node) {
  return node.address.empty() ? "127.0.0.1" : node.address;
}

// --- Opening -----------------------------------------------------------------------------------

std::optional<Error> SessionRoom::objection(const Context& context,
                                            const OpenSessionCall& call) const {
  const model::ApplicationKey& key = call.application;
  if (context.state.find<model::Namespace>(key.ns) == nullptr) {
    return Error{Code::NotFound, "no namespace " + key.ns};
  }
  const auto* application = context.state.find<model::Application>(key);
  if (application == nullptr) {
    return Error{Code::NotFound, "no application " + model::to_string(key)};
  }
  if (call.data.size() > model::SessionSpec::kDataMax) {
    return Error{Code::InvalidInput,
                 fmt::format("the data are {} bytes; at most {} can be handed to a session",
                             call.data.size(), model::SessionSpec::kDataMax)};
  }
  if (auto why = wrong_with_name(call.name)) return why;
  if (call.request_id.size() > kRequestIdMax) {
    return Error{Code::InvalidInput, "a request id has at most 256 bytes"};
  }
  const auto is_not_positive = [](const std::optional<Duration>& time) {
    return time && *time <= Duration{};
  };
  if (is_not_positive(call.timeout)) return Error{Code::InvalidInput, "a timeout must be positive"};
  if (is_not_positive(call.ttl))
    return Error{Code::InvalidInput, "a time to live must be positive"};
  return std::nullopt;
}

Session* SessionRoom::find_same(const OpenSessionCall& call) {
  if (!call.request_id.empty()) {
    Session* same = sessions_.find({call.application, call.caller, call.request_id});
    if (same != nullptr && !same->is_over()) return same;
  }
  if (call.name.empty()) return nullptr;
  Session* named = sessions_.find(model::SessionKey{call.application.ns, call.name});
  return named != nullptr && !named->is_over() ? named : nullptr;
}

void SessionRoom::attach(Context& context, Session& session, CallId call) {
  session.opening.push_back(call);
  if (!session.is_opening()) return answer(context, session);
  callers_.insert_or_assign(call, session.spec.ref.key);
}

// Whether as many wait as may be served by those who are there and those who come.
std::optional<SessionBusy> SessionRoom::busy(const ApplicationPool& pool) const {
  using Group = Pool::Group;
  const Pool& members = pool.pool;
  const std::uint32_t coming = members.count(Group::Unplaced) + members.count(Group::Pending) +
                               members.count(Group::MakingStandby) + members.count(Group::Standby);
  const std::uint32_t there = coming + members.count(Group::Ready) + members.count(Group::Active);
  const std::uint32_t maximum = pool.application->scaling.maximum;
  const std::uint32_t allowed = maximum > there ? maximum - there : 0;
  const auto queue = waiting_.find(pool.key);
  const std::size_t before = queue == waiting_.end() ? 0 : queue->second.size();
  const std::size_t slots = members.slots();
  const std::size_t free = members.free_slots();
  if (before < free + (std::size_t{coming} + allowed) * slots) return std::nullopt;
  const Duration wait = pool.usual_start * static_cast<std::int64_t>(before / slots + 1);
  return SessionBusy{std::clamp(wait, kLeastRetry, kLongestRetry),
                     fmt::format("all instances of {} are in use, and {} sessions wait",
                                 model::to_string(pool.key), before)};
}

Session SessionRoom::make(const Context& context, const OpenSessionCall& call,
                          const model::Application& application) {
  const model::SessionOptions& options = application.sessions;
  Session session;
  session.spec.ref.key = call.name.empty() ? sessions_.unused_name(call.application.ns)
                                           : model::SessionKey{call.application.ns, call.name};
  session.is_named = !call.name.empty();
  session.spec.request_id = call.request_id;
  session.spec.caller = call.caller;
  session.spec.data = call.data;
  session.spec.close_grace = options.close_grace;
  session.spec.claim = options.claim;
  session.spec.ttl = call.ttl ? std::optional(bounded(*call.ttl)) : options.ttl;
  session.spec.idle_timeout = options.idle_timeout;
  session.spec.reopen = call.reopen.value_or(options.reopen);
  session.application = call.application;
  session.created = context.now;
  session.deadline = context.now + bounded(call.timeout.value_or(options.open_timeout));
  session.keep_finished = options.keep_finished;
  return session;
}

void SessionRoom::record(Context& context, const OpenSessionCall& call) {
  const auto refuse = [&](auto answer) {
    context.effects.session_replies.push_back({call.call, std::move(answer)});
  };
  if (auto why = objection(context, call)) return refuse(*std::move(why));
  pools_.follow_documents(context);
  if (Session* same = find_same(call)) {
    const bool is_same = same->spec.caller == call.caller && same->application == call.application;
    if (!is_same) return refuse(already_exists(same->spec.ref.key));
    return attach(context, *same, call.call);
  }
  const ApplicationPool& pool = *pools_.find(call.application);
  if (auto too_many = busy(pool)) return refuse(*std::move(too_many));
  Session& session = sessions_.add(make(context, call, *pool.application));
  while (lingering_.contains(session.spec.ref)) ++session.spec.ref.incarnation;
  waiting_[call.application].push_back(session.spec.ref.key);
  to_serve_.insert(call.application);
  attach(context, session, call.call);
}

// First come, first served.
void SessionRoom::serve_waiting(Context& context, const model::ApplicationKey& key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return pools_.set_waiting(key, 0);
  Queue& queue = found->second;
  while (!queue.empty()) {
    const model::SessionKey first = queue.front();
    const Session* session = sessions_.find(first);
    const bool still_waits = session != nullptr && session->state == SessionState::Pending;
    if (still_waits && serve(context, first) != Served::Yes) break;
    // One that has ended for want of ports waits no more.
    if (!queue.empty() && queue.front() == first) queue.pop_front();
  }
  pools_.set_waiting(key, static_cast<std::uint32_t>(queue.size()));
  if (queue.empty()) waiting_.erase(found);
}

SessionRoom::Served SessionRoom::serve(Context& context, const model::SessionKey& waiting) {
  Session* session = sessions_.find(waiting);
  const model::ApplicationKey& key = session->application;
  const auto instance = pools_.free_slot(context, key);
  const auto chosen = instance ? instance : pools_.wake(key);
  if (!chosen) return Served::NoInstance;
  const PoolMember& member = *pools_.find_member(*chosen);
  if (!give_ports(context, *session, member)) return Served::NotYet;
  if (session->is_over()) return Served::Yes;  // there are none: it was told so
  session = &give_name(*session, *chosen);
  session->spec.instance = *chosen;
  session->state = SessionState::Starting;
  pools_.bind(*chosen, session->spec.ref);
  send_open(*session, member.place->node);
  if (!session->outside.empty()) forward(*session);
  shown(context, *session);
  return Served::Yes;
}

bool SessionRoom::is_beyond_gateway(const Context& context, const model::NodeId& node) const {
  return context.config.gateway && context.config.gateway->node != node;
}

// All or none.
bool SessionRoom::give_ports(Context& context, Session& session, const PoolMember& member) {
  const auto& gateway = context.config.gateway;
  const model::NodeId& node = member.place->node;
  const bool is_beyond = is_beyond_gateway(context, node);
  if (is_beyond && !pools_.can_be_told(gateway->node)) return false;
  const Wanted here{*member.edition.item,
                    gateway && !is_beyond ? gateway->address : address_of(context.nodes.at(node))};
  session.outside.clear();
  session.served_as.reset();
  Given given = give_ports(here, session.spec.ports);
  if (given == Given::Yes && is_beyond) {
    given = give_ports({here.item, gateway->address}, session.outside);
    if (given != Given::Yes) release_ports(std::exchange(session.spec.ports, {}));
  }
  if (given != Given::Exhausted) return given == Given::Yes;
  end(context, session, SessionState::Failed,
      {"EndpointsExhausted",
       fmt::format("all ports of {} are in use", is_beyond ? gateway->address : here.address)});
  return true;
}

SessionRoom::Given SessionRoom::give_ports(const Wanted& wanted,
                                           std::vector<model::SessionPort>& ports) {
  const std::vector<std::uint16_t> numbers = exposed_numbers(wanted.item);
  const auto given = endpoints_.allocate(wanted.address, numbers.size());
  if (given.outcome == Endpoints::Outcome::NotYet) return Given::NotYet;
  if (given.outcome == Endpoints::Outcome::Exhausted) return Given::Exhausted;
  ports.clear();
  for (const model::Port& port : wanted.item.ports) {
    const auto at = std::ranges::find(numbers, port.number) - numbers.begin();
    ports.push_back({port, wanted.address, given.ports[static_cast<std::size_t>(at)], ""});
  }
  return Given::Yes;
}

// From the gateway to where it is reached at its instance's node.
void SessionRoom::forward(const Session& session) {
  std::vector<model::SessionPort> ports = session.outside;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const model::SessionPort& behind = session.spec.ports[i];
    const bool is_version_6 = behind.external_address.find(':') != std::string::npos;
    ports[i].internal = fmt::format(fmt::runtime(is_version_6 ? "[{}]:{}" : "{}:{}"),
                                    behind.external_address, behind.external);
  }
  forwards_.want(session.spec.ref, session.spec.instance, std::move(ports));
}

// One that has no name of its own is called like its instance, with a number if that has several.
Session& SessionRoom::give_name(Session& session, const model::InstanceKey& instance) {
  if (session.is_named) return session;
  const model::SessionKey former = session.spec.ref.key;
  std::string name = fmt::format("{}-{}", instance.subject.value(), instance.index);
  const auto is_taken = [&](const std::string& candidate) {
    const Session* known = sessions_.find(model::SessionKey{former.ns, candidate});
    return known != nullptr && !known->is_over();
  };
  for (std::uint32_t n = 2; is_taken(name); ++n) {
    name = fmt::format("{}-{}-{}", instance.subject.value(), instance.index, n);
  }
  const model::SessionKey key{former.ns, name};
  for (const CallId call : session.opening) callers_.insert_or_assign(call, key);
  return sessions_.rename(former, key);
}

// Where its instance listens its agent knows; who is told that only forwards.
void SessionRoom::send_open(const Session& session, const model::NodeId& node) {
  if (!pools_.can_be_told(node)) return;
  model::OpenSession open{session.spec};
  for (model::SessionPort& port : open.session.ports) port.internal.clear();
  pools_.tell(node, std::move(open));
}

void SessionRoom::stop_waiting(const Session& session) {
  const auto found = waiting_.find(session.application);
  if (found == waiting_.end()) return;
  std::erase(found->second, session.spec.ref.key);
  to_serve_.insert(session.application);
}

// --- Closing -----------------------------------------------------------------------------------

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
  const bool was_lost = !session.spec.instance.item.empty();
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

// --- What agents say ---------------------------------------------------------------------------

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
  std::set<model::InstanceKey> listed;
  for (const model::ReportedPoolInstance& instance : pool.instances) {
    if (!model::is_pool_instance(instance.key)) continue;
    listed.insert(instance.key);
    pools_.report(context, id, instance);
  }
  if (report.full) pools_.forget_unlisted(context, id, listed);
  std::set<model::SessionRef> shown;
  for (const model::ReportedSession& session : pool.sessions) {
    if (!model::is_pool_instance(session.session.instance)) continue;
    shown.insert(session.session.ref);
    this->report(context, id, session);
  }
  if (!report.full) return;
  look_for_unlisted(context, id, shown);
  look_for_unlisted_forwards(context, id, shown);
}

// What was told on an earlier connection and has not come is told again; what was there is gone.
void SessionRoom::look_for_unlisted(Context& context, const model::NodeId& node,
                                    const std::set<model::SessionRef>& listed) {
  if (!pools_.is_in_step(node)) return;
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

// --- The gateway -------------------------------------------------------------------------------

// It has the session of another node, or of nobody that is known yet.
bool SessionRoom::is_forward(const Context& context, const model::NodeId& node,
                             const model::SessionSpec& reported) const {
  if (!context.config.gateway || context.config.gateway->node != node) return false;
  if (!model::is_pool_instance(reported.instance)) return false;
  const PoolMember* member = pools_.find_member(reported.instance);
  return member == nullptr || !member->place || member->place->node != node;
}

void SessionRoom::report_forward(Context& context, const model::ReportedSession& reported) {
  const model::SessionRef& ref = reported.session.ref;
  const bool is_known = forwards_.find(ref) != nullptr;
  if (model::is_over(reported.state)) {
    if (is_known) forward_ended(context, reported);
    return;
  }
  if (!is_known) return adopt_forward(context, reported);
  if (model::is_usable(reported.state)) forward_opened(context, ref);
}

// Of an earlier life of the control plane. Whose it is may be heard later.
void SessionRoom::adopt_forward(Context& context, const model::ReportedSession& reported) {
  const model::SessionRef& ref = reported.session.ref;
  std::vector<model::SessionPort> ports = reported.session.ports;
  std::erase_if(ports, [&](const model::SessionPort& port) {
    return port.external_address != context.config.gateway->address;
  });
  ports = take_ports(ports);
  const bool is_whole = !ports.empty() && ports.size() == reported.session.ports.size();
  GatewayForwards::Forward forward{.instance = reported.session.instance, .ports = ports};
  forward.is_open = model::is_usable(reported.state);
  forwards_.adopt(ref, std::move(forward));
  Session* session = sessions_.find(ref);
  const bool is_wanted = session != nullptr && !session->is_over() && session->outside.empty();
  if (is_whole && is_wanted) session->outside = ports;
  if (!is_whole || (!is_wanted && has_matched_forwards_)) forwards_.end(ref);
}

void SessionRoom::forward_opened(Context& context, const model::SessionRef& ref) {
  forwards_.opened(ref);
  Session* session = sessions_.find(ref);
  if (session == nullptr || !session->is_opening() || !session->served_as) return;
  session->state = *session->served_as;
  session->served_as.reset();
  become_available(context, *session);
}

// Asked for or not. A stranger may have the port: then another one does as well.
void SessionRoom::forward_ended(Context& context, const model::ReportedSession& reported) {
  const model::SessionRef ref = reported.session.ref;
  const GatewayForwards::Forward over = forwards_.take(ref);
  release_ports(over.ports);
  release_ports(over.behind);
  for (const auto& [key, queue] : waiting_) to_serve_.insert(key);
  if (over.ends) return;
  const bool is_taken = reported.reason.hindrance == model::Hindrance::PortTaken;
  if (is_taken) {
    for (const model::SessionPort& port : over.ports) {
      endpoints_.set_aside(port.external_address, port.external);
    }
  }
  Session* session = sessions_.find(ref);
  if (session == nullptr || session->is_over()) return;
  const PoolMember* member = pools_.find_member(session->spec.instance);
  const bool can_try = is_taken && session->is_opening() && member != nullptr;
  if (can_try && give_ports({*member->edition.item, context.config.gateway->address},
                            session->outside) == Given::Yes) {
    return forward(*session);
  }
  if (session->is_opening() && member != nullptr) {
    close(context, *session, session->spec.close_grace, reported.reason);
    return;
  }
  close(context, *session, session->spec.close_grace,
        {"GatewayLost", "the gateway does not forward it any more"});
}

void SessionRoom::look_for_unlisted_forwards(Context& context, const model::NodeId& node,
                                             const std::set<model::SessionRef>& listed) {
  if (!context.config.gateway || context.config.gateway->node != node) return;
  for (const auto& [key, queue] : waiting_) to_serve_.insert(key);
  if (!pools_.is_in_step(node)) return;
  for (const model::SessionRef& ref : forwards_.listed(listed)) {
    const GatewayForwards::Forward over = forwards_.take(ref);
    release_ports(over.ports);
    release_ports(over.behind);
  }
}

// Once all who could be heard of were: what leads nowhere is closed, and so is who is led to by
// nobody, for its clients know only the gateway.
void SessionRoom::match_forwards(Context& context) {
  if (!context.config.gateway || std::exchange(has_matched_forwards_, true)) return;
  std::vector<model::SessionRef> unwanted;
  for (const auto& [ref, forward] : forwards_.all()) {
    const Session* session = sessions_.find(ref);
    if (session == nullptr || session->is_over()) unwanted.push_back(ref);
  }
  for (const model::SessionRef& ref : unwanted) forwards_.end(ref);
  std::vector<model::SessionKey> alone;
  for (const auto& [key, session] : sessions_.all()) {
    if (session.is_over() || session.state == SessionState::Pending) continue;
    const PoolMember* member = pools_.find_member(session.spec.instance);
    const bool is_beyond =
        member != nullptr && member->place && is_beyond_gateway(context, member->place->node);
    if (is_beyond && session.outside.empty()) alone.push_back(key);
  }
  for (const model::SessionKey& key : alone) {
    Session& session = *sessions_.find(key);
    close(context, session, session.spec.close_grace,
          {"GatewayLost", "the gateway does not forward it any more"});
  }
}

void SessionRoom::become_available(Context& context, Session& session) {
  session.available = context.now;
  sessions_.opened(session);
  context.note(NoteKind::SessionOpened, "session/" + model::to_string(session.spec.ref.key),
               "on " + model::to_string(session.spec.instance));
  shown(context, session);
  answer(context, session);
}

// --- Decisions ---------------------------------------------------------------------------------

void SessionRoom::decide(Context& context) {
  for (const model::ItemKey& item : context.changes.edited_items) pools_.item_edited(context, item);
  pools_.follow_documents(context);
  end_overdue(context);  // also while agents are awaited
  if (!context.reachability.settled()) return;
  endpoints_.settle();
  match_forwards(context);
  if (context.changes.everything) ask_everybody(context);
  pools_.end_strangers();
  lose_silent_nodes(context);
  end_lost(context);
  end_sessions_of_deleted(context);
  follow_drains(context);
  for (const model::ApplicationKey& key : pools_.to_look_at()) to_serve_.insert(key);
  for (const model::ApplicationKey& key : std::exchange(to_serve_, {})) serve_waiting(context, key);
  pools_.decide(context);
  end_lost(context);
  // Ports are reserved ahead where there may be sessions.
  if (!context.state.durable().applications.empty()) endpoints_.write_down(context);
  for (const model::SessionKey& key : sessions_.take_finished(context.now)) sessions_.erase(key);
}

// While nothing was decided, nobody listened.
void SessionRoom::ask_everybody(Context& context) {
  for (const auto& [id, node] : context.nodes) {
    if (node.in_touch()) context.orders.ask_fully(id);
  }
}

void SessionRoom::tell(Context& context) {
  pools_.start_placed(context);
  if (context.config.gateway) forwards_.tell(pools_, context.config.gateway->node);
  pools_.send(context);
  for (model::ApplicationKey& key : pools_.take_changed()) {
    context.effects.pools_changed.push_back(std::move(key));
  }
}

void SessionRoom::look_at(const Context& context, const model::NodeId& id,
                          const ObservedNode& node) {
  const bool is_silent = !node.reachable() && node.ever_reported;
  if (!is_silent) return silent_.set(id, std::nullopt);
  silent_.set_earlier(id, node.last_heard + context.config.pool_lost_after);
}

// A node that is silent for long has lost what is not to be moved.
void SessionRoom::lose_silent_nodes(Context& context) {
  if (context.config.walk == Walk::Everything) {
    for (const auto& [id, node] : context.nodes) {
      if (!pools_.on(id).empty()) look_at(context, id, node);
    }
  }
  for (const model::NodeId& id : silent_.take_due(context.now)) lose_if_silent(context, id);
  ask_given_up(context);
}

void SessionRoom::lose_if_silent(Context& context, const model::NodeId& id) {
  const ObservedNode& node = context.nodes.at(id);
  if (context.now < node.last_heard + context.config.pool_lost_after) {
    return look_at(context, id, node);
  }
  pools_.lose_node(context, id, {"NodeLost", "its node " + id.value() + " is not heard of"});
  given_up_.emplace(id, context.now - context.config.resend_after);
}

// It may have all of that still, and be heard of on the same connection.
void SessionRoom::ask_given_up(Context& context) {
  for (auto& [id, asked] : given_up_) {
    if (!is_heard(context, id) || context.now < asked + context.config.resend_after) continue;
    context.orders.ask_fully(id);
    asked = context.now;
  }
}

void SessionRoom::end_lost(Context& context) {
  for (const LostMember& lost : pools_.take_lost()) {
    for (const model::SessionRef& ref : lost.sessions) {
      const auto lingering = lingering_.find(ref);
      if (lingering != lingering_.end() && !lost.may_be_there) {
        release(ref, lingering_.extract(lingering).mapped());
      }
      if (Session* session = sessions_.find(ref)) {
        end(context, *session, SessionState::Failed, lost.why,
            lost.may_be_there ? std::optional(lost.node) : std::nullopt);
      }
    }
    to_serve_.insert(model::application_of(lost.key));
  }
}

// Exactly at its deadline, with the reason why there was no instance if that is known.
void SessionRoom::end_overdue(Context& context) {
  for (const model::SessionKey& key : sessions_.take_overdue(context.now)) {
    Session& session = *sessions_.find(key);
    const ApplicationPool* pool = pools_.find(session.application);
    model::Problem why{"Timeout", "no instance was ready in time"};
    if (session.state == SessionState::Pending && pool != nullptr) {
      const model::Problem& known = pool->refusal.reason.empty() ? pool->failure : pool->refusal;
      if (!known.reason.empty()) why = known;
    }
    std::optional<model::NodeId> lingers_on;
    if (session.state == SessionState::Starting) {
      why = {"Timeout", "its instance did not open it in time"};
      const PoolMember* member = pools_.find_member(session.spec.instance);
      if (member != nullptr) {
        lingers_on = member->place->node;
        pools_.tell(member->place->node,
                    model::CloseSession{session.spec.ref, session.spec.instance,
                                        session.spec.close_grace, why});
      }
    }
    end(context, session, SessionState::Timeout, why, lingers_on);
  }
}

void SessionRoom::end_sessions_of_deleted(Context& context) {
  std::set<model::ApplicationKey> ending = pools_.take_ending();
  if (context.config.walk == Walk::Everything) {
    for (const auto& [key, pool] : pools_.all()) ending.insert(key);
  }
  for (const model::ApplicationKey& key : ending) {
    const ApplicationPool* pool = pools_.find(key);
    if (pool != nullptr && !pool->application) end_sessions_of(context, *pool);
  }
}

void SessionRoom::end_sessions_of(Context& context, const ApplicationPool& deleted) {
  const model::Problem why{"ApplicationDeleted", "its application was deleted"};
  const bool is_now = deleted.farewell == Farewell::Now;
  for (const auto& [number, member] : deleted.pool.members()) {
    const std::set<model::SessionRef> refs = member.sessions;
    for (const model::SessionRef& ref : refs) {
      Session* session = sessions_.find(ref);
      if (session == nullptr || (session->state == SessionState::Closing && !is_now)) continue;
      close(context, *session, is_now ? Duration{} : session->spec.close_grace, why);
    }
  }
  const auto queue = waiting_.find(deleted.key);
  if (queue == waiting_.end()) return;
  const Queue waiting = queue->second;
  for (const model::SessionKey& waiter : waiting) {
    if (Session* session = sessions_.find(waiter)) {
      end(context, *session, SessionState::Closed, why);
    }
  }
}

// Of those that are drained, and those that were.
void SessionRoom::follow_drains(Context& context) {
  std::set<model::NodeId> concerned = std::exchange(drained_, {});
  for (const auto& [id, drain] : context.drains.all()) drained_.insert(id);
  concerned.insert(drained_.begin(), drained_.end());
  if (context.config.walk == Walk::Everything) {
    for (const auto& [id, record] : context.state.durable().nodes) concerned.insert(id);
  }
  for (const model::NodeId& id : concerned) follow_drain(context, id);
}

// Sessions have their time until the deadline of the drain.
void SessionRoom::follow_drain(Context& context, const model::NodeId& id) {
  using Drained = Pools::Drained;
  const auto* record = context.state.find<model::NodeRecord>(id);
  if (record == nullptr || pools_.on(id).empty()) return;
  const bool is_overdue = record->drain && record->drain->overdue;
  const Drained drained = is_overdue      ? Drained::Overdue
                          : record->drain ? Drained::Yes
                                          : Drained::No;
  if (is_overdue) close_all_on(context, id, {"NodeDrained", "its node is drained"});
  pools_.drain(context, id, drained);
}

void SessionRoom::close_all_on(Context& context, const model::NodeId& node,
                               const model::Problem& why) {
  for (const model::InstanceKey& key : pools_.on(node)) {
    const std::set<model::SessionRef> refs = pools_.find_member(key)->sessions;
    for (const model::SessionRef& ref : refs) {
      Session* session = sessions_.find(ref);
      if (session == nullptr || session->state == SessionState::Closing) continue;
      close(context, *session, session->spec.close_grace, why);
    }
  }
}

void SessionRoom::forget(Context& context, const model::NodeId& node) {
  pools_.lose_node(context, node, {"NodeForgotten", "its node was forgotten"});
  pools_.disconnected(node);
  end_lost(context);
  release_lingering(node, {});
  silent_.set(node, std::nullopt);
  given_up_.erase(node);
  drained_.erase(node);
}

Time SessionRoom::next(const Context& context) const {
  if (!context.reachability.settled()) return sessions_.next_deadline();
  if (!to_serve_.empty()) return context.now;
  Time next = std::min({sessions_.next(), pools_.next(context), silent_.next().value_or(kNever)});
  for (const auto& [id, asked] : given_up_) {
    if (is_heard(context, id)) next = std::min(next, asked + context.config.resend_after);
  }
  return next;
}

// --- What is shown -----------------------------------------------------------------------------

void SessionRoom::shown(Context& context, const Session& session) {
  context.effects.session_changes.push_back(status_of(context, session));
}

model::SessionStatus SessionRoom::status_of(const Step& step, const Session& session) const {
  model::SessionStatus status{.ref = session.spec.ref,
                              .application = session.application,
                              .instance = session.spec.instance,
                              .node = {},
                              .state = session.state,
                              .reason = session.reason,
                              .endpoints = session.spec.ports,
                              .clients = session.clients,
                              .created_at = step.date_of(session.created),
                              .available_at = {},
                              .ended_at = {}};
  if (!session.spec.instance.item.empty()) {
    const PoolMember* member = pools_.find_member(session.spec.instance);
    if (member != nullptr && member->place) status.node = member->place->node;
  }
  if (!session.outside.empty()) {
    status.endpoints = session.outside;
    const std::size_t count = std::min(session.outside.size(), session.spec.ports.size());
    for (std::size_t i = 0; i < count; ++i) {
      status.endpoints[i].internal = session.spec.ports[i].internal;
    }
  }
  if (session.available) status.available_at = step.date_of(*session.available);
  if (session.ended) status.ended_at = step.date_of(*session.ended);
  return status;
}

std::vector<model::SessionStatus> SessionRoom::statuses(const Step& step,
                                                        const Choice& choice) const {
  std::vector<model::SessionStatus> statuses;
  auto it = sessions_.all().lower_bound({choice.ns, ""});
  for (; it != sessions_.all().end() && statuses.size() < choice.most; ++it) {
    const auto& [key, session] = *it;
    if (!choice.ns.empty() && key.ns != choice.ns) break;
    if (!choice.is_meant || choice.is_meant(session)) statuses.push_back(status_of(step, session));
  }
  return statuses;
}

std::optional<model::SessionStatus> SessionRoom::status_of(const Step& step,
                                                           const model::SessionKey& key) const {
  const Session* session = sessions_.find(key);
  if (session == nullptr) return std::nullopt;
  return status_of(step, *session);
}

std::size_t SessionRoom::open_sessions_in(const std::string& ns) const {
  return static_cast<std::size_t>(std::ranges::count_if(sessions_.all(), [&](const auto& entry) {
    return entry.first.ns == ns && !entry.second.is_over();
  }));
}

}  // namespace berth::control
