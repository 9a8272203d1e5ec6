#pragma once

#include <cstdint>
#include <optional>

#include "control/config.h"
#include "sim/queue.h"
#include "sim/sabotage.h"
#include "sim/trace.h"

namespace berth::sim {

// What happened in a run, in numbers.
struct Counts {
  std::uint64_t tasks = 0;
  std::uint64_t controller_steps = 0;
  std::uint64_t agent_steps = 0;
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t connections = 0;
  std::uint64_t partitions = 0;
  std::uint64_t controller_crashes = 0;
  std::uint64_t agent_crashes = 0;
  std::uint64_t reboots = 0;
  std::uint64_t failed_commits = 0;
  std::uint64_t starts = 0;
  std::uint64_t run_crashes = 0;
  std::uint64_t lies = 0;
  std::uint64_t hangs = 0;
  std::uint64_t clock_jumps = 0;
  std::uint64_t clones = 0;
  std::uint64_t calls = 0;
  std::uint64_t checks = 0;
};

// What all parts of a simulated world share.
struct Stage {
  Queue queue;
  Trace trace;
  Counts counts;
  Sabotage sabotage = Sabotage::None;
  Duration heartbeat = 2s;  // of the agents; the other clocks of the unit go with it
  std::optional<control::IdRange> session_ports = {};  // of each address; nullopt: as usual

  Time now() const { return queue.now(); }
};

}  // namespace berth::sim
