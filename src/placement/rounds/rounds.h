#pragma once

#include <cstddef>
#include <vector>

#include "placement/board.h"

// The rounds of a planning run. Each takes and gives positions of requests in scheduling order, and
// is explained in its own file.
namespace berth::placement {

using RequestList = std::vector<std::size_t>;

// All rounds, as the board's mode says.
void carry_out_rounds(Board& board);

// Each gives those that the next round must look at.
RequestList keep_round(Board& board);
RequestList policy_pass(Board& board);

// Gives those for which nothing was found.
RequestList place_round(Board& board, const RequestList& requests);

// Gives those that had to make room for the refused.
RequestList displace_round(Board& board, const RequestList& refused);

// Whether what was left alone can be kept after all, when others have made room.
bool keep_again(Board& board);

// The last word: what may stay for the time being.
void stay_round(Board& board);

// Says of all who are without a place why, as things are now.
void refuse_round(Board& board);

// Of a minimal rebalance, when everybody has a place: as few as possible leave overloaded nodes.
void relieve_round(Board& board);

RequestList all_requests(const Board& board);
// Neither placed nor left alone.
RequestList without_place(const Board& board);

}  // namespace berth::placement
