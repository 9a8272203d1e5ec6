#pragma once

#include <cstddef>

// What both ends agree on.
namespace berth::link {

constexpr int kMessageBytesMax = 64 << 20;

// gRPC 1.51 looks at the size of a message only when it has all of it. Beyond these sums it begins
// to cancel streams, soon but not at once: a peer can make it use more for a moment, not for long.
constexpr std::size_t kServerMemoryMax = 256u << 20;
constexpr std::size_t kAgentMemoryMax = 160u << 20;

// The agent asks so often whether the server is there, and waits so long for an answer.
constexpr int kAgentPingMs = 2'000;
constexpr int kAgentPingTimeoutMs = 2'000;

// The server learns of dead agents by their silence; its own questions only clear away what they
// leave behind.
constexpr int kServerPingMs = 10'000;
constexpr int kServerPingTimeoutMs = 5'000;

// Every server has this name, wherever it is; the authority that signed it is the unit's own.
constexpr const char* kServerName = "berthd";

}  // namespace berth::link
