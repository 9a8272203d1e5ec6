#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// What a runtime that hung has not answered is asked again within this time.
constexpr Duration kAsksAgain = 150s;

// A start that nothing slows down has failed by then.
constexpr Duration kFailsWithin = 1s;

using model::InstanceKey;
using model::InstanceState;

// Compares what is desired with what is decided, shown and real.
class Comparison {
 public:
  explicit Comparison(const World& world)
      : world_(world),
        durable_(world.controller()->durable()),
        statuses_(world.controller()->statuses()) {}

  std::vector<std::string> run() {
    for (const auto& [name, deployment] : durable_.deployments) {
      for (const model::RunRequest& request : deployment.run) compare(request);
    }
    compare_statuses();
    compare_rollouts();
    compare_overrides();
    compare_nodes();
    compare_loads();
    for (std::string& complaint : unsettled_pools(world_)) {
      complaints_.push_back(std::move(complaint));
    }
    return std::move(complaints_);
  }

 private:
  template <class... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) {
    complaints_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void compare(const model::RunRequest& request) {
    for (std::uint32_t index = 0; index < request.instances.value_or(0); ++index) {
      compare(request, {request.item, request.subject, index});
    }
    if (request.instances) return;
    for (const auto& [key, record] : durable_.instances) {
      const bool asked = key.item == request.item && key.subject == request.subject;
      if (asked && record.phase != model::Phase::Cached) compare(request, key);
    }
  }

  void compare(const model::RunRequest& request, const InstanceKey& key) {
    desired_.insert(key);
    const auto record = durable_.instances.find(key);
    const auto status = statuses_.find(key);
    if (is_absent(request.subject)) return compare_absent(record, status);
    if (record == durable_.instances.end() || record->second.phase == model::Phase::Cached) {
      return complain("{} is desired and not decided", to_string(key));
    }
    if (status == statuses_.end()) return complain("{} has no status", to_string(key));
    if (record->second.leaving) complain("{} is still leaving", to_string(key));
    const std::string version = expected_version(request, key);
    if (record->second.version != version && !is_left_alone(record->second)) {
      complain("{} is {}, not {}", to_string(key), record->second.version, version);
    }
    if (record->second.phase == model::Phase::Waiting) return compare_waiting(status->second);
    if (!record->second.place) return complain("{} has no place yet", to_string(key));
    compare_placed(record->second, status->second);
  }

  bool is_absent(const model::SubjectId& id) const {
    const auto subject = durable_.subjects.find(id);
    return subject != durable_.subjects.end() && !subject->second.present;
  }

  template <class Record, class Status>
  void compare_absent(const Record& record, const Status& status) {
    if (record == durable_.instances.end()) return;
    if (record->second.phase == model::Phase::Erasing) return;
    if (record->second.phase != model::Phase::Inactive || status == statuses_.end() ||
        status->second.state != InstanceState::Inactive) {
      complain("{} is not inactive, though its subject is gone", to_string(record->first));
    }
  }

  std::string expected_version(const model::RunRequest& request, const InstanceKey& key) const {
    const auto rollout = durable_.rollouts.find({request.item, request.subject});
    const bool back = rollout != durable_.rollouts.end() && is_back(rollout->second, key);
    return back ? rollout->second.from : asked_version(request);
  }

  // All old or all new: what has failed runs the old version again, all of it, unless what works
  // shall be kept.
  static bool is_back(const model::RolloutRecord& rollout, const InstanceKey& key) {
    return rollout.failed && (!rollout.allow_partial || rollout.kept_back.contains(key.index));
  }

  // A request that names none means the only one.
  std::string asked_version(const model::RunRequest& request) const {
    if (!request.version.empty()) return request.version;
    const auto only = durable_.items.lower_bound({request.item, ""});
    return only == durable_.items.end() ? "" : only->first.version;
  }

  void compare_rollouts() {
    for (const auto& [key, rollout] : durable_.rollouts) {
      if (!rollout.failed) complain("the rollout of {} is under way", key.first.value());
    }
  }

  void compare_overrides() {
    for (const auto& [name, override] : durable_.env_overrides) {
      for (const model::EnvEntry& entry : override.entries) {
        const bool expires = std::ranges::any_of(
            entry.variables, [](const auto& variable) { return variable.expires.has_value(); });
        if (expires) complain("override {} has yet to expire", name);
      }
    }
  }

  // A pinned instance whose new version does not fit at its place stays as it is.
  bool is_left_alone(const model::InstanceRecord& record) const {
    const auto item = durable_.items.find({record.key.item, record.version});
    return item != durable_.items.end() && model::is_pinned(item->second);
  }

  void compare_waiting(const model::InstanceStatus& status) {
    if (status.state != InstanceState::Failed || status.problem.reason.empty()) {
      complain("{} waits, is shown {} and gives no reason", to_string(status.key),
               to_string(status.state));
    }
  }

  void compare_placed(const model::InstanceRecord& record, const model::InstanceStatus& status) {
    const std::string name = to_string(record.key);
    const auto item = durable_.items.find({record.key.item, record.version});
    if (item == durable_.items.end()) return complain("{} has no item", name);
    if (has_ended(item->second.restart.mode, status)) return;
    if (is_broken(item->second)) return;  // asked for so from the start: there is no way back
    if (lifetime(item->second) && !record.paused) complain("{} is not done yet", name);
    const auto expected = record.paused ? InstanceState::Paused : InstanceState::Active;
    if (status.state != expected || status.unverified) {
      complain("{} is shown {}{} {}", name, to_string(status.state),
               status.unverified ? " unverified" : "", status.problem.reason);
    }
    if (status.place != record.place || status.version != record.version) {
      complain("{} is shown elsewhere or in another version", name);
    }
    running_.insert({record.key, record.place->node});
    compare_state(record);
  }

  // What an instance has written is kept, and not only said: what was not heard while its copy was
  // on trial is said again seconds later.
  void compare_state(const model::InstanceRecord& record) {
    const model::NodeId& node = record.place->node;
    const auto host = world_.agents().find(node);
    // What a clone has said last in its place is what is kept.
    if (host == world_.agents().end() || world_.was_cloned(node)) return;
    const Machine& machine = host->second->machine();
    if (machine.is_counting() || machine.info().partitions.unit_wide) return;
    const auto kept = durable_.states.find(record.key);
    const std::uint64_t counted = machine.counted(record.key);
    const std::uint64_t known = kept == durable_.states.end() ? 0 : count_in(kept->second.state);
    if (counted > known) {
      complain("{} has counted {} on {}, and {} is kept", to_string(record.key), counted,
               node.value(), known);
    }
  }

  static bool has_ended(model::RestartMode mode, const model::InstanceStatus& status) {
    const bool failed_for_good =
        mode == model::RestartMode::Never && status.state == InstanceState::Failed;
    return failed_for_good || status.state == InstanceState::Inactive;
  }

  void compare_statuses() {
    for (const auto& [key, status] : statuses_) {
      const auto record = durable_.instances.find(key);
      const bool preinstalled = record != durable_.instances.end() && record->second.preinstalled;
      if (!desired_.contains(key) && !preinstalled) {
        complain("{} is shown and not desired", to_string(key));
      }
    }
  }

  // Messages of old connections can be late by minutes.
  bool is_reachable(const model::NodeId& node) const {
    const auto observed = world_.controller()->nodes().find(node);
    return observed != world_.controller()->nodes().end() && observed->second.reachable();
  }

  // What was asked for so from the start, or is what a rollout went back to, is tried again and
  // again, and never comes up. A start that is slow from the time of the faults is given up after a
  // minute, and what is written then is its end.
  bool is_a_vain_try(const InstanceKey& key, const model::NodeId& node, const Run& run) const {
    const auto record = durable_.instances.find(key);
    return record != durable_.instances.end() && is_broken(run.spec.item) &&
           run.state == Run::State::Starting && world_.now() - run.since < kFailsWithin &&
           record->second.place && !may_go_back(key) && record->second.place->node == node &&
           run.spec.item.version == record->second.version;
  }

  bool may_go_back(const InstanceKey& key) const {
    const auto rollout = durable_.rollouts.find({key.item, key.subject});
    return rollout != durable_.rollouts.end() && !is_back(rollout->second, key);
  }

  void compare_nodes() {
    std::set<std::pair<InstanceKey, model::NodeId>> found;
    for (const auto& [node, host] : world_.agents()) {
      if (!host->up() || !world_.network().connected(node)) {
        complain("{} is not connected", node.value());
      } else if (!is_reachable(node)) {
        complain("{} is not reachable", node.value());
      }
      for (const auto& [key, digest] : host->unheard()) {
        complain("nobody has heard of the state of {} on {}", to_string(key), node.value());
      }
      for (const auto& [key, run] : host->machine().runs()) {
        if (run.preinstalled) {
          // A runtime that hung may tell what it runs a minute later.
          if (!durable_.instances.contains(key.first))
            complain("{} is preinstalled on {}, and not known", to_string(key.first), node.value());
          continue;
        }
        if (model::is_pool_instance(key.first)) continue;
        if (is_a_vain_try(key.first, node, run)) continue;
        if (run.sick && run.spec.item.health && !run.paused)
          complain("{} is sick", to_string(key.first));
        const bool counts = run.state == Run::State::Running &&
                            running_.contains({key.first, node}) &&
                            run.spec.item.version == version_of(key.first);
        if (!counts || !found.emplace(key.first, node).second) {
          complain("{}@{} runs on {}, and should not", to_string(key.first), run.spec.item.version,
                   node.value());
        } else if (run.paused != durable_.instances.at(key.first).paused) {
          complain("{} is {}paused on {}, and should {}be", to_string(key.first),
                   run.paused ? "" : "not ", node.value(), run.paused ? "not " : "");
        }
      }
    }
    for (const auto& [id, node] : world_.controller()->nodes()) {
      // A machine that stands still takes its orders when it goes on.
      if (!node.untold_runtimes.empty()) {
        complain("{} has yet to say what its runtimes run", id.value());
      }
      const auto host = world_.agents().find(id);
      if (host != world_.agents().end() &&
          world_.now() - host->second->machine().hung_at() < kAsksAgain) {
        complain("{} may ask its runtimes again", id.value());
      }
      if (node.is_behind()) complain("{} has not acted on what it was told", id.value());
      for (const auto& [key, status] : node.reported) {
        if (status.stopping) complain("{} is stopping on {}", to_string(key), id.value());
      }
    }
    for (const auto& [key, node] : running_) {
      if (!found.contains({key, node}))
        complain("{} does not run on {}", to_string(key), node.value());
    }
  }

  void compare_loads() {
    if (world_.controller()->is_rebalancing()) complain("a rebalance is on its way");
    for (const auto& [id, node] : world_.controller()->nodes()) {
      const control::NodeLoad& of_node = world_.controller()->load_of(id);
      for (const control::ResourceLoad& load : {of_node.cpu, of_node.ram}) {
        const bool changes =
            load.state == control::LoadState::Above || load.state == control::LoadState::Below;
        if (changes) complain("{} is {} its threshold", id.value(), to_string(load.state));
      }
      const auto& rules = of_node.thresholds;
      const bool is_watched = rules && (rules->cpu || rules->ram);
      if (is_watched && node.reachable() && !node.usage) {
        complain("{} was not measured yet", id.value());
      }
      if (of_node.is_overloaded() && !of_node.attempt) {
        complain("{} is overloaded, and nothing was attempted", id.value());
      }
    }
  }

  std::string version_of(const InstanceKey& key) const {
    return durable_.instances.at(key).version;
  }

  const World& world_;
  const control::Durable& durable_;
  const std::map<InstanceKey, model::InstanceStatus> statuses_;
  std::set<InstanceKey> desired_;
  std::set<std::pair<InstanceKey, model::NodeId>> running_;
  std::vector<std::string> complaints_;
};

class ConvergenceChecker : public Checker {
 public:
  ConvergenceChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void settled() override { at_rest_ = true; }

  void controller_stepped(const control::Effects& effects) override {
    if (at_rest_ && !effects.writes.empty()) violate("the controller writes at rest");
  }
  void agent_stepped(const model::NodeId& node, const agent::Effects& effects) override {
    if (at_rest_ && !effects.writes.empty()) violate(node.value() + " writes at rest");
  }
  void acting(const model::NodeId& node, const agent::Action& action) override {
    const auto* start = std::get_if<agent::Start>(&action);
    const bool changes_runs = (start != nullptr && !is_broken(start->spec.item)) ||
                              stops_what_works(node, action) ||
                              std::holds_alternative<agent::SetPausing>(action);
    if (at_rest_ && changes_runs) violate(node.value() + " starts, stops or pauses at rest");
  }
  void rested() override {
    for (const std::string& complaint : unsettled(world_)) violate(complaint);
  }

 private:
  // What never comes up is stopped, too, when its start is not answered in time.
  bool stops_what_works(const model::NodeId& node, const agent::Action& action) const {
    const auto* stop = std::get_if<agent::Stop>(&action);
    if (stop == nullptr) return false;
    const Machine::Runs& runs = world_.agents().at(node)->machine().runs();
    const auto run = runs.find({stop->key, stop->run});
    return run == runs.end() || !is_broken(run->second.spec.item);
  }

  void violate(const std::string& what) { violate_("convergence", what); }

  const World& world_;
  Violate violate_;
  bool at_rest_ = false;
};

}  // namespace

std::vector<std::string> unsettled(const World& world) {
  if (world.controller() == nullptr) return {"the controller is down"};
  return Comparison(world).run();
}

CheckerPtr convergence_checker(const World& world, Violate violate) {
  return std::make_unique<ConvergenceChecker>(world, std::move(violate));
}

}  // namespace berth::sim
