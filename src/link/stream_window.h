#pragma once

#include <algorithm>
#include <cstddef>

// Flow control of logs and exec sessions. Who reads says how much may be on its way to it, and
// grants more as it takes what came; who writes waits. So a reader who stands still costs everyone
// on the way a window, and no more.
namespace berth::link {

// Of output, from the agent to the one who called: granted by the control plane.
constexpr std::size_t kOutputWindow = 256u << 10;
constexpr std::size_t kPieceBytes = 32u << 10;

// A small piece takes a place in the queues as well as a large one.
constexpr std::size_t kPieceCostMin = 16u << 10;
constexpr std::size_t cost_of_piece(std::size_t bytes) { return std::max(bytes, kPieceCostMin); }

// Of input, from the caller to the program: so much may be sent unasked, more is granted by the
// agent. Callers who do not count may go further, up to a limit.
constexpr std::size_t kInputWindow = 64u << 10;
constexpr std::size_t kInputBytesMax = 4u << 20;

// Grants are collected: each is a message too. What is held back meanwhile must leave room for a
// piece.
constexpr std::size_t kOutputGrant = kOutputWindow / 4;
constexpr std::size_t kInputGrant = kInputWindow / 4;

}  // namespace berth::link
