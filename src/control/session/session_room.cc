#include "control/session/session_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

using model::SessionState;

bool is_heard(const Context& context, const model::NodeId& id) {
  const auto node = context.nodes.find(id);
  return node != context.nodes.end() && node->second.reachable();
}

// Who had them may have them still: they are given out when there are no others.
void set_aside(Endpoints& endpoints, const std::vector<model::SessionPort>& ports) {
  for (const model::SessionPort& port : ports) {
    endpoints.set_aside(port.external_address, port.external);
  }
}

}  // namespace

void SessionRoom::restore(const Step& step) {
  pools_.restore(step);
  endpoints_.restore(step);
}

std::string SessionRoom::address_of(const ObservedNode& node) {
  return node.address.empty() ? "127.0.0.1" : node.address;
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
  if (!is_silent || pools_.on(id).empty()) return silent_.set(id, std::nullopt);
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
      std::vector<model::SessionPort> ports;
      if (const auto lingering = lingering_.extract(ref)) {
        ports = lingering.mapped().ports;
        release(ref, lingering.mapped());
      }
      Session* session = sessions_.find(ref);
      if (session != nullptr && !session->is_over()) {
        ports = session->spec.ports;
        end(context, *session, SessionState::Failed, lost.why);
      }
      if (lost.may_be_there && forwards_.find(ref) == nullptr) set_aside(endpoints_, ports);
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
