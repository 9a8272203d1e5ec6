#include "placement/rounds/rounds.h"

namespace berth::placement {

// Everybody in turn gets the best place in the room that is left.
RequestList place_round(Board& board, const RequestList& requests) {
  RequestList refused;
  for (const std::size_t request : requests) {
    if (!board.is_wanted()) return {};
    if (board.place(request, "placed in the room that was left")) continue;
    board.refuse(request);
    refused.push_back(request);
  }
  return refused;
}

RequestList all_requests(const Board& board) {
  RequestList all(board.requests().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

}  // namespace berth::placement
