#include <map>

#include "control/controller.h"
#include "sim/checkers/account.h"
#include "sim/checkers/checkers.h"
#include "sim/checkers/commanded.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

// A pinned service that no longer fits beside others is left alone and keeps its room, which is why
// an excess counts only if it is there without such services too.
enum class Pinned { Counted, LeftOut };

bool counts(const model::Item& item, Pinned pinned) {
  return pinned == Pinned::Counted || item.balancing == model::Balancing::Enabled;
}

class CapacityChecker : public Checker {
 public:
  CapacityChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void controller_loaded(const control::Durable&) override { commanded_.clear(); }

  void controller_stepped(const control::Effects& effects) override {
    const bool is_news = !effects.writes.empty() || !effects.pool_commands.empty();
    // Until it has settled it hears what there is, and decides nothing.
    if (!is_news || !world_.controller()->settled() || !decided(Pinned::Counted)) return;
    if (const auto what = decided(Pinned::LeftOut)) violate_("capacity", "decided on " + *what);
  }

  // A start waits until what leaves the node has made room, so what is commanded always fits: into
  // the capacities that are known when it is decided, not into those of when it is sent. What one
  // of two machines was told that are both one node the other has never heard.
  void commanding(const control::Outgoing& outgoing) override {
    if (world_.was_cloned(outgoing.node)) return;
    note(outgoing.command, commanded_[outgoing.node]);
    if (!commanded(outgoing.node, Pinned::Counted)) return;
    if (const auto what = commanded(outgoing.node, Pinned::LeftOut)) {
      violate_("capacity", "commanded to " + outgoing.node.value() + ": " + *what);
    }
  }

 private:
  std::optional<std::string> decided(Pinned pinned) const {
    const control::Durable& durable = world_.controller()->durable();
    Account account(world_, durable);
    for (const auto& [key, instance] : durable.instances) {
      if (!instance.place) continue;
      const auto item = durable.items.find({key.item, instance.version});
      const bool taken = item != durable.items.end() && counts(item->second, pinned);
      if (taken) account.take(*instance.place, item->second);
    }
    take_pools(account, pinned);
    return account.excess();
  }

  // Those that stay. Who serves a session is as if pinned.
  void take_pools(Account& account, Pinned pinned) const {
    for (const auto& [key, pool] : world_.controller()->sessions().pools().all()) {
      for (const auto& [number, member] : pool.pool.members()) {
        const bool stays =
            member.stage != control::PoolMember::Stage::Terminating && !member.leaves;
        const bool is_counted = pinned == Pinned::Counted || member.sessions.empty();
        if (stays && is_counted && member.place) account.take(*member.place, *member.edition.item);
      }
    }
  }

  std::optional<std::string> commanded(const model::NodeId& node, Pinned pinned) const {
    Account account(world_, world_.controller()->durable());
    for (const auto& [each, specs] : commanded_) {
      for (const auto& [key, spec] : specs) {
        if (counts(spec.item, pinned)) account.take({each, spec.runtime}, spec.item);
      }
    }
    return account.excess_on(node);
  }

  const World& world_;
  Violate violate_;
  std::map<model::NodeId, Specs> commanded_;
};

}  // namespace

CheckerPtr capacity_checker(const World& world, Violate violate) {
  return std::make_unique<CapacityChecker>(world, std::move(violate));
}

}  // namespace berth::sim
