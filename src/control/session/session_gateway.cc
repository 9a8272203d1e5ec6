#include "control/session/session_room.h"

#include <algorithm>
#include <utility>

#include "control/context.h"

namespace berth::control {
namespace {

using model::SessionState;

}  // namespace

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
                                             const std::set<model::SessionRef>& listed,
                                             bool is_in_step) {
  if (!context.config.gateway || context.config.gateway->node != node) return;
  for (const auto& [key, queue] : waiting_) to_serve_.insert(key);
  if (!is_in_step) return;
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

}  // namespace berth::control
