#include <fmt/format.h>

#include <set>

#include "control/controller.h"
#include "model/scaling.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

using Group = control::Pool::Group;
using Stage = control::PoolMember::Stage;

// Compares what the controller knows of pools and sessions with what is on the machines, both ways,
// and looks for what has yet to happen.
class PoolComparison {
 public:
  explicit PoolComparison(const World& world)
      : world_(world), pools_(world.controller()->sessions().pools()) {
    for (model::SessionStatus& status : world.controller()->session_statuses()) {
      if (!model::is_over(status.state)) sessions_.emplace(status.ref, std::move(status));
    }
  }

  std::vector<std::string> run() {
    for (const auto& [node, host] : world_.agents()) compare_machine(node, host->machine());
    for (const auto& [key, pool] : pools_.all()) compare_pool(pool);
    for (const auto& [ref, session] : sessions_) compare_session(session);
    return std::move(complaints_);
  }

 private:
  template <class... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) {
    complaints_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  // --- What is on machines.
  void compare_machine(const model::NodeId& node, const Machine& machine) {
    std::size_t apps = 0;
    for (const auto& [key, run] : machine.runs()) {
      if (!model::is_pool_instance(key.first)) continue;
      ++apps;
      compare_run(node, key.first, run);
    }
    for (const auto& [endpoint, ref] : machine.pools().endpoints()) {
      const auto session = sessions_.find(ref);
      if (session != sessions_.end() && session->second.node == node) continue;
      complain("{}:{} is held on {} by {}, which is no session there", endpoint.first,
               endpoint.second, node.value(), to_string(ref.key));
    }
    if (machine.pools().furnished() > apps) {
      complain("{} has {} furnished, and {} pool instances", node.value(),
               machine.pools().furnished(), apps);
    }
  }

  void compare_run(const model::NodeId& node, const model::InstanceKey& key, const Run& run) {
    const control::PoolMember* member = pools_.find_member(key);
    if (member == nullptr || !member->place || member->place->node != node) {
      return complain("{} runs on {}, and nobody knows it", to_string(key), node.value());
    }
    if (run.state != Run::State::Running) complain("{} is on its way", to_string(key));
    if (run.paused != (member->stage == Stage::Standby)) {
      complain("{} is {}paused, and should not be so", to_string(key), run.paused ? "" : "not ");
    }
    found_.insert(key);
    if (!run.note) return;
    for (const model::KeptSession& kept : run.note->sessions) compare_kept(kept);
  }

  void compare_kept(const model::KeptSession& kept) {
    const model::SessionSpec& spec = kept.session;
    if (!sessions_.contains(spec.ref)) {
      return complain("{} has a session {} that nobody knows", to_string(spec.instance),
                      to_string(spec.ref.key));
    }
    const bool waits_for_claim = spec.claim > Duration{} && !kept.claimed;
    const bool is_idle = spec.idle_timeout && kept.idle_since;
    if (spec.ttl || waits_for_claim || is_idle) {
      complain("the time of session {} will be over", to_string(spec.ref.key));
    }
  }

  // --- What the controller knows.
  void compare_pool(const control::ApplicationPool& pool) {
    if (!pool.application) return complain("{} is deleted, and not gone", to_string(pool.key));
    for (const auto& [number, member] : pool.pool.members()) compare_member(pool, member);
    const bool is_refused = !pool.refusal.reason.empty();
    if (pool.pool.count(Group::Unplaced) > 0 && !is_refused) {
      complain("{} has instances without a place, and no reason", to_string(pool.key));
    }
    if (pool.waiting > 0) complain("sessions of {} wait", to_string(pool.key));
    compare_sizes(pool);
  }

  void compare_member(const control::ApplicationPool& pool, const control::PoolMember& member) {
    if (member.stage == Stage::Asked) return;
    const bool rests = member.stage == Stage::Running || member.stage == Stage::Standby;
    if (!rests)
      complain("{} is in stage {}", to_string(member.key), static_cast<int>(member.stage));
    if (!found_.contains(member.key)) complain("{} is known, and nowhere", to_string(member.key));
    for (const model::SessionRef& ref : member.sessions) {
      if (!sessions_.contains(ref)) {
        complain("{} is bound to {}, which is over", to_string(member.key), to_string(ref.key));
      }
    }
    const std::uint32_t burst = pool.application->scaling.burst.value_or(UINT32_MAX);
    const bool is_old = member.edition.number != pool.edition.number;
    const bool can_roll = pool.roll_failures < burst && pool.refusal.reason.empty();
    if (is_old && member.sessions.empty() && can_roll) {
      complain("{} is of an old edition", to_string(member.key));
    }
    if (member.leaves && member.sessions.empty()) complain("{} leaves", to_string(member.key));
  }

  void compare_sizes(const control::ApplicationPool& pool) {
    const model::ScalingStep step = control::scaling_step_of(pool, control::surplus_of(pool));
    if (step != model::ScalingStep{}) {
      complain("{} has yet to be scaled: create {}, remove {}+{}+{}, wake {}, pause {}",
               to_string(pool.key), step.create + step.make_standby, step.remove_unplaced,
               step.remove_pending, step.remove_ready + step.remove_standby, step.wake,
               step.pause_ready);
    }
    const std::uint32_t free = pool.pool.count(Group::Ready) + pool.pool.count(Group::Standby);
    const std::uint32_t all = pool.pool.count(Group::Active) + free;
    const std::uint32_t maximum = pool.application->scaling.maximum;
    if (all > maximum && free > 0) {
      complain("{} has {} instances of {}", to_string(pool.key), all, maximum);
    }
  }

  void compare_session(const model::SessionStatus& session) {
    const std::string name = to_string(session.ref.key);
    if (!model::is_usable(session.state)) {
      return complain("session {} is {}", name, to_string(session.state));
    }
    const auto host = world_.agents().find(session.node);
    if (host == world_.agents().end()) return complain("session {} is on no node", name);
    const auto& all = host->second->machine().pools().served();
    const auto served = all.find(session.ref);
    const bool is_served = served != all.end() && !served->second.until;
    if (!is_served) complain("session {} is not served on {}", name, session.node.value());
    for (const model::SessionPort& port : session.endpoints) {
      const auto& held = host->second->machine().pools().endpoints();
      const auto holder = held.find({port.external_address, port.external});
      if (holder == held.end() || holder->second != session.ref) {
        complain("session {} does not hold its port {}", name, port.external);
      }
    }
  }

  const World& world_;
  const control::Pools& pools_;
  std::map<model::SessionRef, model::SessionStatus> sessions_;
  std::set<model::InstanceKey> found_;
  std::vector<std::string> complaints_;
};

}  // namespace

std::vector<std::string> unsettled_pools(const World& world) { return PoolComparison(world).run(); }

}  // namespace berth::sim
