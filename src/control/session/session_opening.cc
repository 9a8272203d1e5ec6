#include "control/session/session_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

using model::SessionState;

constexpr Duration kLeastRetry = 100ms;
constexpr Duration kLongestRetry = 30s;

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

}  // namespace

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

}  // namespace berth::control
