#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/session/endpoints.h"
#include "control/session/gateway_forwards.h"
#include "control/session/pools.h"
#include "control/session/sessions.h"
#include "control/step.h"

namespace berth::control {

struct Context;
struct ObservedNode;

// The room of applications: their pools, sessions and endpoints. Durable are only documents and
// blocks of numbers and ports; all else is in memory and on the agents. See docs/adr/0050.
class SessionRoom {
 public:
  void restore(const Step& step);

  // --- Facts.
  void record(Context& context, const OpenSessionCall& call);
  void record(Context& context, const CloseSessionCall& call);
  void record(Context& context, const SessionCallerGone& gone);
  void record(const WritesDurable& written);
  void report(Context& context, const model::NodeId& id, const ObservedNode& node,
              const model::Report& report);
  void disconnected(const model::NodeId& node);
  // Whether the node can be reached has changed.
  void look_at(const Context& context, const model::NodeId& id, const ObservedNode& node);
  void application_changed(const model::ApplicationKey& key) { pools_.application_changed(key); }
  void application_deleted(const model::ApplicationKey& key, Farewell farewell) {
    pools_.application_deleted(key, farewell);
  }

  // --- Decisions. `decide` before the plan, `tell` after the orders of the step.
  void decide(Context& context);
  void tell(Context& context);
  // Something has changed since it decided, by the plan.
  bool must_look_again() const { return !to_serve_.empty() || pools_.must_look_again(); }
  Time next(const Context& context) const;
  void forget(Context& context, const model::NodeId& node);

  // --- For others.
  Pools& pools() { return pools_; }
  const Pools& pools() const { return pools_; }
  // Those that are meant, in the order of their names, and no more than so many of them.
  struct Choice {
    std::string ns = {};  // empty: of all namespaces
    std::function<bool(const Session&)> is_meant = {};
    std::size_t most = SIZE_MAX;
  };
  std::vector<model::SessionStatus> statuses(const Step& step, const Choice& choice) const;
  std::optional<model::SessionStatus> status_of(const Step& step,
                                                const model::SessionKey& key) const;
  std::size_t open_sessions_in(const std::string& ns) const;

 private:
  using Queue = std::deque<model::SessionKey>;

  std::optional<Error> objection(const Context& context, const OpenSessionCall& call) const;
  Session* find_same(const OpenSessionCall& call);
  void attach(Context& context, Session& session, CallId call);
  std::optional<SessionBusy> busy(const ApplicationPool& pool) const;
  Session make(const Context& context, const OpenSessionCall& call,
               const model::Application& application);

  void serve_waiting(Context& context, const model::ApplicationKey& key);
  enum class Served { Yes, NoInstance, NotYet };
  Served serve(Context& context, const model::SessionKey& waiting);
  bool give_ports(Context& context, Session& session, const PoolMember& member);
  // Where it is reached behind the gateway, if that is another node; where else.
  struct Wanted {
    const model::Item& item;
    std::string address;
  };
  enum class Given { Yes, NotYet, Exhausted };
  Given give_ports(const Wanted& wanted, std::vector<model::SessionPort>& ports);
  void release_ports(const std::vector<model::SessionPort>& ports);
  bool is_beyond_gateway(const Context& context, const model::NodeId& node) const;
  void forward(const Session& session);
  bool is_forward(const Context& context, const model::NodeId& node,
                  const model::SessionSpec& reported) const;
  void report_forward(Context& context, const model::ReportedSession& reported);
  void adopt_forward(Context& context, const model::ReportedSession& reported);
  void forward_opened(Context& context, const model::SessionRef& ref);
  void forward_ended(Context& context, const model::ReportedSession& reported);
  void look_for_unlisted_forwards(Context& context, const model::NodeId& node,
                                  const std::set<model::SessionRef>& listed, bool is_in_step);
  void match_forwards(Context& context);
  Session& give_name(Session& session, const model::InstanceKey& instance);
  void send_open(const Session& session, const model::NodeId& node);
  void stop_waiting(const Session& session);

  void report(Context& context, const model::NodeId& node, const model::ReportedSession& reported);
  void report_end(Context& context, Session& session, const model::ReportedSession& reported);
  void try_again(Session& session);
  void let_linger(const model::NodeId& node, const model::ReportedSession& reported);
  void let_linger(const model::NodeId& node, const model::ReportedSession& reported,
                  std::vector<model::SessionPort> ports);
  std::vector<model::SessionPort> take_ports(const std::vector<model::SessionPort>& ports);
  void look_for_unlisted(Context& context, const model::NodeId& node,
                         const std::set<model::SessionRef>& listed);
  void adopt(Context& context, const model::NodeId& node, const model::ReportedSession& reported);
  Session* find_asked(const model::SessionSpec& reported);
  void recognise(Context& context, const model::NodeId& node, Session& asked,
                 const model::ReportedSession& reported);
  void become_available(Context& context, Session& session);
  void close(Context& context, Session& session, Duration grace, const model::Problem& why);
  // `lingers_on`: that node may have it still.
  void end(Context& context, Session& session, model::SessionState state, model::Problem why,
           const std::optional<model::NodeId>& lingers_on = {});
  void reopen(Context& context, const Session& lost);
  void answer(Context& context, Session& session);
  static void ask_everybody(Context& context);
  void end_overdue(Context& context);
  void end_lost(Context& context);
  void lose_silent_nodes(Context& context);
  void ask_given_up(Context& context);
  void lose_if_silent(Context& context, const model::NodeId& id);
  void end_sessions_of_deleted(Context& context);
  void end_sessions_of(Context& context, const ApplicationPool& deleted);
  void follow_drains(Context& context);
  void follow_drain(Context& context, const model::NodeId& id);
  void close_all_on(Context& context, const model::NodeId& node, const model::Problem& why);
  void shown(Context& context, const Session& session);
  model::SessionStatus status_of(const Step& step, const Session& session) const;
  static std::string address_of(const ObservedNode& node);

  Pools pools_;
  Sessions sessions_;
  Endpoints endpoints_;
  GatewayForwards forwards_;
  bool has_matched_forwards_ = false;
  std::map<model::ApplicationKey, Queue> waiting_;
  std::set<model::ApplicationKey> to_serve_;
  std::map<CallId, model::SessionKey> callers_;
  // Of sessions that are over for their callers: their agents have not said so yet.
  struct Lingering {
    model::InstanceKey instance;
    model::NodeId node;
    std::vector<model::SessionPort> ports;
  };
  void release_lingering(const model::NodeId& node, const std::set<model::SessionRef>& but_these);
  void release(const model::SessionRef& ref, const Lingering& held);

  void report_lingering(const model::NodeId& node, const Lingering& held,
                        const model::ReportedSession& reported);

  std::map<model::SessionRef, Lingering> lingering_;
  Alarms<model::NodeId> silent_;            // when what they have is lost: an early one only looks
  std::map<model::NodeId, Time> given_up_;  // may have all that still; when they were asked
  std::set<model::NodeId> drained_;         // whose instances know of it
};

}  // namespace berth::control
