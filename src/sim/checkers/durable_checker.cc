#include <algorithm>
#include <map>
#include <optional>

#include "control/controller.h"
#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

bool same(const agent::Restored& a, const agent::Restored& b) {
  return a.wanted == b.wanted && a.acted == b.acted && a.network == b.network &&
         a.handed == b.handed && a.last == b.last;
}

// A memory image as of the last durable step, and as of the step that was being made durable.
template <class Image>
struct Images {
  Image durable;
  std::optional<Image> in_flight;

  void stepped(const Image& memory) { in_flight = memory; }
  void committed() {
    if (in_flight) durable = std::move(*in_flight);
    in_flight.reset();
  }
  void loaded(const Image& image) {
    durable = image;
    in_flight.reset();
  }
};

class DurableChecker : public Checker {
 public:
  DurableChecker(const World& world, Violate violate)
      : world_(world), violate_(std::move(violate)) {}

  void controller_stepped(const control::Effects& effects) override {
    if (!effects.writes.empty()) controller_.stepped(world_.controller()->durable());
  }
  void controller_committed(const control::Effects& effects) override {
    if (!effects.writes.empty()) controller_.committed();
  }
  void controller_loaded(const control::Durable& loaded) override {
    const bool known = loaded == controller_.durable ||
                       (controller_.in_flight && loaded == *controller_.in_flight);
    if (!known) violate_("durable", "the controller loaded what was never its last state");
    if (loaded.counters.revision < acknowledged_) {
      violate_("durable", "what was acknowledged to a caller is not on disk");
    }
    controller_.loaded(loaded);
  }
  void replying(const control::Reply& reply) override {
    const auto* accepted = std::get_if<control::Accepted>(&reply.answer);
    if (accepted != nullptr) acknowledged_ = std::max(acknowledged_, accepted->revision);
  }

  void agent_stepped(const model::NodeId& node, const agent::Effects& effects) override {
    if (!effects.writes.empty()) agents_[node].stepped(world_.agents().at(node)->memory());
  }
  // With all that could not be made durable before.
  void agent_committed(const model::NodeId& node, const agent::Effects&) override {
    agents_[node].committed();
  }
  void agent_loaded(const model::NodeId& node, const agent::Restored& loaded) override {
    Images<agent::Restored>& images = agents_[node];
    const bool known =
        same(loaded, images.durable) || (images.in_flight && same(loaded, *images.in_flight));
    if (!known) violate_("durable", node.value() + " loaded what was never its last state");
    images.loaded(loaded);
  }

  void agent_store_lost(const model::NodeId& node, const agent::Restored& left) override {
    agents_[node].loaded(left);
  }

 private:
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
