#pragma once

#include <cstddef>

// What both ends agree on.
namespace berth::link {

// Far more than a command or a report needs. A hostile message may take ten times its size once it
// is parsed, if it is made of fields that nobody knows.
constexpr int kMessageBytesMax = 8 << 20;

// gRPC 1.51 looks at the size of a message only when it has all of it. What keeps it from taking
// all of a gibibyte is the sum that its connections may hold together: beyond it, streams are
// cancelled, the oldest first, until there is room. Agents who lose theirs to the fault of another
// are back after a moment. An idle connection holds about 25 KiB, so each brings some room.
constexpr std::size_t kServerMemoryMax = 32u << 20;
constexpr std::size_t kServerMemoryPerStream = 128u << 10;
constexpr std::size_t kAgentMemoryMax = 32u << 20;

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
