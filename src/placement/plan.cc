#include "placement/plan.h"

#include <algorithm>

#include "placement/rounds/rounds.h"

namespace berth::placement {
namespace {

// Each turn displaces only lower priorities than the one before, so it ends.
void run(Board& board) {
  RequestList rest = keep_round(board);
  while (!rest.empty() && board.is_wanted()) {
    const RequestList refused = place_round(board, rest);
    rest = displace_round(board, refused);
  }
  stay_round(board);
}

}  // namespace

bool changes_anything(const Plan& plan) {
  const auto changes = [](const Placement& placement) { return placement.action != Action::Keep; };
  return !plan.stops.empty() || std::ranges::any_of(plan.placements, changes);
}

Plan make_plan(const Snapshot& snapshot, const Options& options) {
  Board board(snapshot, options);
  switch (options.mode) {
    case Mode::Run: run(board); break;
    case Mode::RebalanceMinimal:
      run(board);
      relieve_round(board);
      break;
    case Mode::Replan: place_round(board, all_requests(board)); break;
    case Mode::RebalanceFull: place_round(board, policy_pass(board)); break;
  }
  if (!board.is_wanted()) return {.given_up = true};
  return board.take_plan();
}

}  // namespace berth::placement
