#include "placement/rounds/rounds.h"

namespace berth::placement {
namespace {

Rejection reject_at_its_place(const Board& board, const Request& request,
                              std::optional<std::size_t> node, std::optional<std::size_t> runtime) {
  if (!node) return {.reason = Reason::NoConnectedNodes, .image = 0, .verdicts = {}};
  return board.pipeline().reject_kept(request, *node, runtime);
}

bool keep(Board& board, std::size_t position) {
  const Request& request = board.requests()[position];
  const model::Place& place = request.present->place;
  const auto node = board.find_node(place.node);
  const auto runtime = node ? board.find_runtime(*node, place.runtime) : std::nullopt;
  if (runtime) {
    if (const auto choice = board.pipeline().keep(request, {*node, *runtime})) {
      board.place(position, *choice, "kept on " + model::to_string(place) + ": it runs there well");
      return true;
    }
  }
  if (!model::is_pinned(*request.item)) return false;
  board.leave_alone(position, reject_at_its_place(board, request, node, runtime));
  return true;
}

}  // namespace

// Nothing healthy moves without need: what runs stays, if it may. A pinned one that may not stay
// goes nowhere else, and what runs of it is left alone.
RequestList keep_round(Board& board) {
  RequestList rest;
  for (std::size_t i = 0; i < board.requests().size(); ++i) {
    const bool placed = board.requests()[i].present != nullptr;
    if (!placed || !keep(board, i)) rest.push_back(i);
  }
  return rest;
}

}  // namespace berth::placement
