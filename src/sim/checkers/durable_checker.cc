#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

bool same(const agent::Restored& a, const agent::Restored& b) {
  return a.wanted == b.wanted && a.acted == b.acted && a.network == b.network &&
         a.handed == b.handed && a.last == b.last;
}

// A memory image as of the last durable step, and as of each step after it: the controller steps on
// while its disk writes, and one commit covers several steps, so a crash leaves the first of these
// images or a later one. And, of a disk that lies, those that a power cut may bring back.
template <class Image>
struct Images {
  Image durable;
  std::deque<Image> in_flight;
  std::vector<Image> earlier;

  void stepped(const Image& memory) { in_flight.push_back(memory); }
  void committed(const Disk& disk) {
    if (disk.is_safe()) {
      earlier.clear();
    } else {
      earlier.push_back(durable);
    }
    if (in_flight.empty()) return;
    durable = std::move(in_flight.front());
    in_flight.pop_front();
  }
  void loaded(const Image& image, const Disk& disk) {
    if (!in_flight.empty() && !disk.is_safe()) earlier.push_back(std::move(durable));
    if (disk.is_safe()) earlier.clear();
    durable = image;
    in_flight.clear();
  }
  // The power was cut since, exactly if nothing is unsafe any more.
  template <class Same>
  bool knows(const Image& image, const Disk& disk, Same same) const {
    const auto is_it = [&](const Image& known) { return same(known, image); };
    return is_it(durable) || std::ranges::any_of(in_flight, is_it) ||
           (disk.is_safe() && std::ranges::any_of(earlier, is_it));
  }
};

class DurableChecker : public Checker {
 public:
  DurableChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {
    controller_.durable.counters.cluster = kClusterOfTheWorld;
  }

  void controller_stepped(const control::Effects& effects) override {
    if (!effects.writes.empty()) controller_.stepped(world_.controller()->durable());
  }
  void controller_committed(const control::Effects& effects) override {
    if (!effects.writes.empty()) controller_.committed(world_.controller_host().disk());
  }
  void controller_loaded(const control::Durable& loaded) override {
    const Disk& disk = world_.controller_host().disk();
    if (!controller_.knows(loaded, disk, std::equal_to<>()))
      violate_("durable", "the controller loaded what was never its last state");
    if (loaded.counters.revision < acknowledged_) {
      violate_("durable", "what was acknowledged to a caller is not on disk");
    }
    controller_.loaded(loaded, disk);
  }
  void replying(const control::Reply& reply) override {
    const auto* accepted = std::get_if<control::Accepted>(&reply.answer);
    if (accepted != nullptr) acknowledged_ = std::max(acknowledged_, accepted->revision);
  }

  // One step at a time, with all that could not be made durable before.
  void agent_stepped(const model::NodeId& node, const agent::Effects& effects) override {
    if (effects.writes.empty()) return;
    agents_[node].in_flight.clear();
    agents_[node].stepped(world_.agents().at(node)->memory());
  }
  void agent_committed(const model::NodeId& node, const agent::Effects&) override {
    agents_[node].committed(disk_of(node));
  }
  void agent_loaded(const model::NodeId& node, const agent::Restored& loaded) override {
    Images<agent::Restored>& images = agents_[node];
    if (!images.knows(loaded, disk_of(node), same)) {
      violate_("durable", node.value() + " loaded what was never its last state");
    }
    images.loaded(loaded, disk_of(node));
  }

  void agent_store_lost(const model::NodeId& node, const agent::Restored& left) override {
    agents_[node].loaded(left, disk_of(node));
  }

 private:
  const Disk& disk_of(const model::NodeId& node) const { return world_.agents().at(node)->disk(); }

  const World& world_;
  Violate violate_;
  Images<control::Durable> controller_;
  std::map<model::NodeId, Images<agent::Restored>> agents_;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace

CheckerPtr durable_checker(const World& world, Violate violate) {
  return std::make_unique<DurableChecker>(world, std::move(violate));
}

}  // namespace berth::sim
