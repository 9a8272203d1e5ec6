#include "sim/checkers/checkers.h"

namespace berth::sim {
namespace {

// A control plane that has lost its store may ask, and orders nothing.
class HoldChecker : public Checker {
 public:
  explicit HoldChecker(Violate violate) : violate_(std::move(violate)) {}

  void sending_without_store(const control::Outgoing& outgoing) override {
    if (is_question(outgoing.command)) return;
    violate_("hold", "a control plane without its store orders " + outgoing.node.value());
  }
  void sending_pool_without_store(const control::PoolOutgoing& outgoing) override {
    violate_("hold", "a control plane without its store orders pools of " + outgoing.node.value());
  }

 private:
  static bool is_question(const model::Command& command) {
    return command.base == command.number && command.run.empty() && command.stop.empty() &&
           command.erase.empty() && command.states.empty() && !command.network;
  }

  Violate violate_;
};

}  // namespace

CheckerPtr hold_checker(const World&, Violate violate) {
  return std::make_unique<HoldChecker>(std::move(violate));
}

}  // namespace berth::sim
