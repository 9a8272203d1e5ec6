#include <fmt/format.h>

#include <map>

#include "sim/checkers/checkers.h"
#include "sim/world.h"

namespace berth::sim {
namespace {

class PoolNumberChecker : public Checker {
 public:
  explicit PoolNumberChecker(Violate violate) : violate_(std::move(violate)) {}

  void acting(const model::NodeId& node, const agent::Action& action) override {
    const auto* start = std::get_if<agent::Start>(&action);
    if (start == nullptr || !model::is_pool_instance(start->spec.key)) return;
    const auto [first, is_new] = started_.emplace(start->spec.key, node);
    if (is_new) return;
    violate_("pool numbers",
             fmt::format("{} is started on {}, and was before on {}", to_string(start->spec.key),
                         node.value(), first->second.value()));
  }

 private:
  Violate violate_;
  std::map<model::InstanceKey, model::NodeId> started_;
};

}  // namespace

CheckerPtr pool_number_checker(const World&, Violate violate) {
  return std::make_unique<PoolNumberChecker>(std::move(violate));
}

}  // namespace berth::sim
