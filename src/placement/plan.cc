#include "placement/plan.h"

#include <algorithm>

#include "placement/rounds/rounds.h"

namespace berth::placement {
namespace {

// Looking again ends by itself. Count those that have a place, of each priority, and write the
// counts down with the highest priority first: whoever finds a place takes it from nobody or from
// lower priorities only, so every change makes what is written lexically greater. What is kept
// again is pinned, so nobody displaces it; only one scheduled before it, kept again later, can take
// its room, and that cannot happen for ever either. Hardly any plan takes more than two looks, but
// a cluster could be made up for which it is very many: better a plan that is not quite at rest
// than none.
constexpr int kLooksMax = 100;

// Each turn displaces only lower priorities than the one before, so it ends.
void settle(Board& board, RequestList displaced) {
  while (!displaced.empty()) displaced = displace_round(board, place_round(board, displaced));
}

// Whether anything has changed that may help those who are still without a place.
bool look(Board& board, const RequestList& rest) {
  const RequestList displaced = displace_round(board, place_round(board, rest));
  settle(board, displaced);
  return !displaced.empty() || keep_again(board);
}

void run(Board& board) {
  RequestList rest = keep_round(board);
  for (int looks = 1; look(board, rest); ++looks) {
    rest = without_place(board);
    if (looks < kLooksMax) continue;
    place_round(board, rest);  // at least nobody is refused who would fit
    break;
  }
  stay_round(board);
}

}  // namespace

bool changes_anything(const Plan& plan) {
  const auto changes = [](const Placement& placement) { return placement.action != Action::Keep; };
  return !plan.stops.empty() || std::ranges::any_of(plan.placements, changes);
}

void carry_out_rounds(Board& board) {
  switch (board.options().mode) {
    case Mode::Run:
    case Mode::RebalanceMinimal: run(board); break;
    case Mode::Replan: place_round(board, all_requests(board)); break;
    case Mode::RebalanceFull: place_round(board, policy_pass(board)); break;
  }
  refuse_round(board);
  if (board.options().mode == Mode::RebalanceMinimal) relieve_round(board);
}

Plan make_plan(const Snapshot& snapshot, const Options& options) {
  Board board(snapshot, options);
  carry_out_rounds(board);
  if (!board.is_wanted()) return {.given_up = true};
  return board.take_plan();
}

}  // namespace berth::placement
