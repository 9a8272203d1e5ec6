#include "sim/checkers/checkers.h"

namespace berth::sim {

std::vector<CheckerPtr> all_checkers(const World& world, const Violate& violate) {
  std::vector<CheckerPtr> checkers;
  for (const auto make :
       {capacity_checker, single_owner_checker, network_checker, single_copy_checker,
        durable_checker, status_truth_checker, convergence_checker, waiting_checker,
        needless_stop_checker, answer_checker, state_checker, readiness_checker, hold_checker,
        session_truth_checker, session_port_checker, session_order_checker, session_answer_checker,
        pool_number_checker}) {
    checkers.push_back(make(world, violate));
  }
  return checkers;
}

}  // namespace berth::sim
