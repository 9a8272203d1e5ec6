#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/alarms.h"
#include "control/session/pool.h"
#include "control/session/pool_orders.h"
#include "control/step.h"
#include "model/scaling.h"
#include "placement/ask.h"
#include "placement/plan.h"
#include "placement/snapshot.h"

namespace berth::control {

struct Context;

// The pool of one application, and what is known of how it fares.
struct ApplicationPool {
  model::ApplicationKey key;
  std::optional<model::Application> application;  // nullopt: it was deleted, and ends
  Farewell farewell = Farewell::WithGrace;        // then

  PoolEdition edition;
  Pool pool;
  model::Surplus surplus;
  std::uint32_t waiting = 0;       // sessions without an instance
  model::Problem refusal;          // why the last ones that were asked for have no place
  model::Problem failure;          // why the last one did not come up
  std::uint32_t failures = 0;      // in a row
  std::optional<Time> not_before;  // of the next one after a failure
  bool cannot_pause = false;       // a runtime has said so
  std::uint32_t roll_failures = 0;
  std::uint32_t roll_credit = 0;  // new ones that are ready, and whose predecessors may go
  std::uint64_t next_number = 1;
  std::uint64_t durable_to = 1;  // numbers below may be used
  std::uint64_t written_to = 1;
  std::optional<std::uint64_t> writing;  // by this revision
  Duration usual_start = 1s;             // from being asked for to ready
};

// How many of its instances are too many, and what is to be done about its size if so many of these
// have been for long enough.
std::uint32_t surplus_of(const ApplicationPool& pool);
model::ScalingStep scaling_step_of(const ApplicationPool& pool, std::uint32_t removable);

// A member that is gone, with the sessions that it had.
struct LostMember {
  model::InstanceKey key;
  model::NodeId node;
  std::set<model::SessionRef> sessions;
  model::Problem why;
  bool may_be_there = false;  // its node is silent, and may have it still
};

// All pools: who is in them, where they are placed, what their agents are told. Sessions belong to
// the room above; here they are only what makes an instance active.
class Pools {
 public:
  // --- What is asked for.
  void restore(const Step& step);
  void application_changed(const model::ApplicationKey& key) { documents_.insert(key); }
  void application_deleted(const model::ApplicationKey& key, Farewell farewell);
  void item_edited(const Step& step, const model::ItemKey& item);
  // Follows the documents.
  void follow_documents(Context& context);

  // nullptr: there is none.
  const ApplicationPool* find(const model::ApplicationKey& key) const;
  const std::map<model::ApplicationKey, ApplicationPool>& all() const { return pools_; }
  const PoolMember* find_member(const model::InstanceKey& key) const;

  // --- For sessions.
  void set_waiting(const model::ApplicationKey& key, std::uint32_t sessions);
  // The instance that has a free slot; nullopt: none.
  std::optional<model::InstanceKey> free_slot(const Context& context,
                                              const model::ApplicationKey& key) const;
  // One that stands still goes on; nullopt: none does.
  std::optional<model::InstanceKey> wake(const model::ApplicationKey& key);
  void bind(const model::InstanceKey& key, const model::SessionRef& session);
  void unbind(const model::InstanceKey& key, const model::SessionRef& session);
  void terminate(Context& context, const model::InstanceKey& key, Duration grace,
                 const model::Problem& why);
  // One that cannot be told hears it after it has said what it has.
  void tell(const model::NodeId& node, model::PoolOrder order) {
    orders_.tell(node, std::move(order));
  }
  bool can_be_told(const model::NodeId& node) const { return orders_.can_be_told(node); }
  // All that it was told has come.
  bool is_in_step(const model::NodeId& node) const { return orders_.is_in_step(node); }

  // --- For the launcher.
  void add_to(placement::Snapshot& snapshot) const;
  // Those that were not asked for yet; good until the next step.
  std::vector<placement::Ask> take_asks();
  bool has_asks() const { return !asked_.empty(); }
  void placed(Context& context, const placement::Placement& placement);
  void refused(Context& context, const placement::Refusal& refusal);
  // What those hold of the node that could make room for this priority.
  std::vector<const PoolMember*> lower_on(const model::NodeId& node, std::int64_t priority) const;
  const std::set<model::InstanceKey>& on(const model::NodeId& node) const;
  bool is_anybody_leaving(const model::NodeId& node) const;
  std::int64_t priority_of(const PoolMember& member) const;

  // --- What agents say.
  void connected(const model::NodeId& node, ConnectionId connection);
  void disconnected(const model::NodeId& node);
  void acted(Time now, const model::NodeId& node, std::uint64_t number) {
    orders_.acted(now, node, number);
  }
  // `is_in_step`: all that it was told before has come.
  void report(Context& context, const model::NodeId& node,
              const model::ReportedPoolInstance& reported, bool is_in_step);
  // A full report: whatever else was there is gone, if all that it was told has come
  // (`is_in_step`).
  void forget_unlisted(Context& context, const model::NodeId& node,
                       const std::set<model::InstanceKey>& listed, bool is_in_step);
  // It is silent, or was forgotten.
  void lose_node(Context& context, const model::NodeId& node, const model::Problem& why);
  // Whoever is on a node that is drained is replaced elsewhere, and gets no new session.
  enum class Drained { No, Yes, Overdue };
  void drain(Context& context, const model::NodeId& node, Drained drained);
  // Whose application is deleted, and who may have sessions that were not told to end.
  std::set<model::ApplicationKey> take_ending() { return std::exchange(ending_, {}); }
  std::vector<LostMember> take_lost() { return std::exchange(lost_, {}); }

  // --- Decisions.
  // Nobody wants these; not before all who are known have told what they have.
  void end_strangers();
  void decide(Context& context);
  void start_placed(Context& context);
  void send(Step& step) { orders_.send(step); }
  void became_durable(std::uint64_t revision);
  Time next(const Step& step) const;
  // Something has changed since it decided.
  bool must_look_again() const { return !dirty_.empty(); }
  const std::set<model::ApplicationKey>& to_look_at() const { return dirty_; }
  std::vector<model::ApplicationKey> take_changed();

 private:
  ApplicationPool& pool_of(const model::InstanceKey& key);
  ApplicationPool* find_pool(const model::InstanceKey& key);
  void follow_pausing(ApplicationPool& pool, const PoolMember& member,
                      const model::ReportedPoolInstance& reported, bool is_in_step);
  void set_away(const model::NodeId& node, bool away);
  void adopt(Context& context, const model::NodeId& node,
             const model::ReportedPoolInstance& reported);
  void follow(Context& context, const model::ApplicationKey& key);
  void begin_edition(Context& context, ApplicationPool& pool);
  void reserve_numbers(Step& step, ApplicationPool& pool);
  void scale(Context& context, ApplicationPool& pool);
  enum class For { Sessions, Standby };
  void create(Context& context, ApplicationPool& pool, std::uint32_t count, For what);
  void remove(Context& context, ApplicationPool& pool, Pool::Group group, std::uint32_t count);
  void carry_out(Context& context, ApplicationPool& pool, const model::ScalingStep& step);
  void roll(Context& context, ApplicationPool& pool);
  void end_replaced(Context& context, ApplicationPool& pool);
  void end_all(Context& context, ApplicationPool& pool);
  void terminate(Context& context, ApplicationPool& pool, std::uint32_t number, Duration grace,
                 const model::Problem& why);
  void set_pausing(ApplicationPool& pool, std::uint32_t number, model::Pausing pausing);
  void came_up(Context& context, ApplicationPool& pool, std::uint32_t number);
  void gone(Context& context, const model::InstanceKey& key, const model::Problem& why);
  void failed(Context& context, ApplicationPool& pool, const model::Problem& why);
  void give_up_overdue(Context& context);
  std::optional<std::uint32_t> take_uid(const Config& config);
  void start(Context& context, ApplicationPool& pool, const PoolMember& member);
  template <class Change>
  void change(ApplicationPool& pool, std::uint32_t number, Change change);

  std::map<model::ApplicationKey, ApplicationPool> pools_;
  std::map<model::NodeId, std::set<model::InstanceKey>> on_nodes_;
  std::map<model::NodeId, std::uint32_t> leaving_;  // how many are told to end there
  PoolOrders orders_;
  std::set<model::ApplicationKey> documents_;  // that have changed
  std::set<model::ApplicationKey> writing_;    // blocks of numbers of these
  std::set<model::ApplicationKey> ending_;
  std::set<model::ApplicationKey> dirty_;
  std::set<model::ApplicationKey> changed_;  // for those who look
  std::set<model::InstanceKey> asked_;       // not shown to a plan yet
  std::set<model::InstanceKey> to_start_;
  std::map<model::InstanceKey, model::NodeId> strangers_;
  std::set<std::uint32_t> uids_;
  std::uint32_t next_uid_ = 0;
  Alarms<model::InstanceKey> overdue_;
  Alarms<model::ApplicationKey> wakes_;  // when a pool wants to be looked at again
  std::vector<LostMember> lost_;
  bool must_plan_ = false;
};

template <class Change>
void Pools::change(ApplicationPool& pool, std::uint32_t number, Change change) {
  const PoolMember& member = *pool.pool.find(number);
  const auto before = std::pair(Pool::group_of(member), member.sessions.size());
  pool.pool.change(number, change);
  changed_.insert(pool.key);
  if (before != std::pair(Pool::group_of(member), member.sessions.size())) dirty_.insert(pool.key);
}

}  // namespace berth::control
