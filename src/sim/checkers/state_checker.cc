#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// Within this time all that ended before a trouble has been told, or never will be.
constexpr Duration kTold = 150s;

std::uint64_t count_in(const model::SavedState& state) {
  std::uint64_t count = 0;
  const std::string& text = state.content;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

// Instances count in their states. One that a command tells a node to run must not begin there with
// less than what the controller had made durable before it sent that command: whatever it answered
// for is not lost on the way. With stop-first that is what the source had counted last, and where
// it has handed over, that is looked up on the source itself. Otherwise two copies run for a while,
// and what the source counts after the other was told to begin is lost when that takes over. What
// two machines have counted that are both one node nobody can say.
class StateChecker : public Checker {
 public:
  StateChecker(const World& world, Violate violate) : world_(world), violate_(std::move(violate)) {}

  void controller_committed(const control::Effects& effects) override {
    for (const control::Write& write : effects.writes) {
      if (write.table == control::table_of<model::InstanceRecord>()) note_leaving(write);
      if (write.table != control::table_of<model::StateRecord>()) continue;
      if (write.record) {
        keep(write.key, write.record->get<model::StateRecord>());
      } else {
        kept_.erase(write.key);
      }
    }
  }
  void controller_loaded(const control::Durable& loaded) override {
    const auto before = std::exchange(kept_, {});
    for (const auto& [key, record] : loaded.states) {
      const auto known = before.find(model::to_string(key));
      const bool is_same = known != before.end() && known->second.record == record;
      kept_[model::to_string(key)] = is_same ? known->second : Kept{count_in(record.state), record};
    }
  }

  void agent_loaded(const model::NodeId& node, const agent::Restored&) override {
    loaded_at_[node] = world_.now();
  }
  // Its agent has died all the same, and did not learn of what ended meanwhile.
  void agent_store_lost(const model::NodeId& node, const agent::Restored&) override {
    loaded_at_[node] = world_.now();
    lost_up_to_[node] = last_sent_[node];
    forgot_at_[node] = world_.now();
  }
  void agent_strayed(const model::NodeId& node) override { forgot_at_[node] = world_.now(); }

  // What is handed over stands in the record that the command was decided by, which may have gone
  // on when the command is sent.
  void commanding(const control::Outgoing& outgoing) override {
    if (is_unit_wide(outgoing.node) || world_.was_cloned(outgoing.node)) return;
    for (const model::InstanceSpec& spec : outgoing.command.run) {
      if (!spec.prepare_only) note_handed_over(outgoing, spec.key);
    }
  }

  void sending(const control::Outgoing& outgoing) override {
    model::CommandNumber& last = last_sent_[outgoing.node];
    last = std::max(last, outgoing.command.number);
    if (is_unit_wide(outgoing.node) || world_.was_cloned(outgoing.node)) return;
    for (const model::InstanceSpec& spec : outgoing.command.run) {
      if (spec.prepare_only) continue;
      const auto kept = kept_.find(model::to_string(spec.key));
      const bool is_owed = kept != kept_.end() && !world_.was_cloned(kept->second.record.node);
      // One that is sent again may have been carried out as it was, also where nothing was kept.
      owed_.emplace(Order{outgoing.node, spec.key, outgoing.command.number},
                    is_owed ? kept->second.count : 0);
    }
  }

  void acting(const model::NodeId& node, const agent::Action& action) override {
    const auto* start = std::get_if<agent::Start>(&action);
    if (start == nullptr) return;
    // Where no control plane answers, an agent whose store is lost starts what it knows, from what
    // it has.
    if (start->run.generation <= lost_up_to_[node]) return;
    const Order order{node, start->spec.key, start->run.generation};
    check(*start, order, owed_, "was kept");
    check(*start, order, handed_over_, "was counted where it was stopped for that");
  }

 private:
  struct Kept {
    std::uint64_t count = 0;
    model::StateRecord record;
  };
  using Order = std::tuple<model::NodeId, model::InstanceKey, model::CommandNumber>;
  using Counts = std::map<Order, std::uint64_t>;

  void check(const agent::Start& start, const Order& order, const Counts& counts,
             std::string_view what) {
    const auto owed = counts.find(order);
    if (owed == counts.end()) return;
    const model::NodeId& node = std::get<model::NodeId>(order);
    const std::uint64_t begins = world_.agents().at(node)->machine().counted_after(start);
    if (begins >= owed->second) return;
    violate_("state", fmt::format("{} starts {} with {}, but {} {}", node.value(),
                                  to_string(start.spec.key), begins, owed->second, what));
  }

  void note_leaving(const control::Write& write) {
    const bool leaves = write.record && write.record->get<model::InstanceRecord>().leaving;
    leaves ? void(leaves_since_.try_emplace(write.key, world_.now()))
           : void(leaves_since_.erase(write.key));
  }

  // Since it was to leave its source, the agent there has lost what its disk had acknowledged: also
  // that there was a state to tell of, which nobody may have heard.
  bool was_forgotten(const model::InstanceKey& key, const model::NodeId& source) const {
    const auto forgot = forgot_at_.find(source);
    const auto since = leaves_since_.find(model::to_string(key));
    return forgot != forgot_at_.end() &&
           (since == leaves_since_.end() || since->second <= forgot->second);
  }

  // What has handed over has stopped: what it has counted is on its node's disk, and all of it goes
  // along, unless its agent died on the way, did not learn of the end, or has forgotten it.
  void note_handed_over(const control::Outgoing& outgoing, const model::InstanceKey& key) {
    const auto& instances = world_.controller()->durable().instances;
    const auto record = instances.find(key);
    if (record == instances.end() || !record->second.leaving || !record->second.leaving->empty) {
      return;
    }
    const model::NodeId& source = record->second.leaving->place.node;
    const Machine& machine = world_.agents().at(source)->machine();
    const bool has_told =
        world_.now() - loaded_at_[source] > kTold && world_.now() - machine.hung_at() > kTold;
    if (!has_told || is_unit_wide(source) || world_.was_cloned(source)) return;
    if (was_forgotten(key, source)) return;
    handed_over_.emplace(Order{outgoing.node, key, outgoing.command.number}, machine.counted(key));
  }

  void keep(const std::string& key, const model::StateRecord& record) {
    Kept now{count_in(record.state), record};
    const auto before = kept_.find(key);
    const bool is_taken_over = before != kept_.end() && before->second.record.node != record.node &&
                               before->second.record.state.digest == record.state.digest;
    const auto host = world_.agents().find(record.node);
    if (is_taken_over && host != world_.agents().end()) {
      now.count = std::min(now.count, host->second->machine().counted(record.state.key));
    }
    kept_.insert_or_assign(key, std::move(now));
  }

  // There it is where it is, and this world has no such disks.
  bool is_unit_wide(const model::NodeId& node) const {
    return world_.agents().at(node)->machine().info().partitions.unit_wide;
  }

  const World& world_;
  Violate violate_;
  std::map<std::string, Kept> kept_;  // by the controller, as far as it is durable
  Counts owed_;
  Counts handed_over_;
  std::map<std::string, Time> leaves_since_;
  std::map<model::NodeId, Time> forgot_at_;
  std::map<model::NodeId, Time> loaded_at_;
  std::map<model::NodeId, model::CommandNumber> last_sent_;
  std::map<model::NodeId, model::CommandNumber> lost_up_to_;
};

}  // namespace

CheckerPtr state_checker(const World& world, Violate violate) {
  return std::make_unique<StateChecker>(world, std::move(violate));
}

}  // namespace berth::sim
