#include "placement/rounds/rounds.h"

namespace berth::placement {
namespace {

bool is_without_place(const Seat& seat) { return !seat.choice && !seat.left_alone; }

}  // namespace

// Everybody in turn gets the best place in the room that is left.
RequestList place_round(Board& board, const RequestList& requests) {
  RequestList refused;
  for (const std::size_t request : requests) {
    if (!board.is_wanted()) return {};
    if (board.place(request, "placed in the room that was left")) continue;
    refused.push_back(request);
  }
  return refused;
}

// Reasons and figures are those of the end: what was in the way of somebody's first turn may be
// gone, or in the way of somebody else.
void refuse_round(Board& board) {
  for (std::size_t i = 0; i < board.requests().size(); ++i) {
    if (!board.is_wanted()) return;
    if (is_without_place(board.seat(i))) board.refuse(i);
  }
}

RequestList all_requests(const Board& board) {
  RequestList all(board.requests().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

RequestList without_place(const Board& board) {
  RequestList without = all_requests(board);
  std::erase_if(without, [&](std::size_t i) { return !is_without_place(board.seat(i)); });
  return without;
}

}  // namespace berth::placement
