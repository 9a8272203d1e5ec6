#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "model/names.h"

// What may go wrong, and how often.
namespace berth::sim {

enum class Fault {
  Loss,
  Delay,
  Duplicate,
  Reorder,
  Partition,
  Crash,
  Disk,
  Runtime,
  Readiness,
  LostStore,
  Fsync,
  Stall,
  Clock,
  Clone,
};

using Faults = std::set<Fault>;

Faults all_faults();

// "loss,delay", "all" or "none".
Result<Faults> parse_faults(std::string_view list);
std::string to_string(const Faults& faults);

// What a connection does to the messages on it, in parts of a million.
struct Weather {
  std::uint64_t loss = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t reorder = 0;
  std::uint64_t delay = 0;
  Duration delay_max{};
};

// What runtimes do to the runs they are given, in parts of a million of the starts.
struct Moods {
  std::uint64_t slow_start = 0;
  std::uint64_t failed_start = 0;
  std::uint64_t lie = 0;
  std::uint64_t repeat = 0;  // of events
  Duration exit_every{};     // per node: the mean time between two runs that crash; 0 = never
  Duration sick_every{};     // per node: between two runs that fail their health checks
};

// How often, on average, an episode begins; 0 = never.
struct Episodes {
  Duration partition_every{};
  Duration reset_every{};  // a connection breaks and can be made again at once
  Duration controller_crash_every{};
  Duration agent_crash_every{};
  Duration reboot_every{};
  Duration full_disk_every{};
  Duration slow_disk_every{};
  Duration hang_every{};
  Duration not_ready_every{};
  Duration node_error_every{};
  Duration lost_store_every{};  // of an agent, or of the control plane
  Duration lying_disk_every{};  // acknowledges what a power cut takes back
  Duration stall_every{};       // a commit that takes very long
  Duration clock_jump_every{};
  Duration clone_every{};  // a second machine with the identity of a node
};

struct Rates {
  Weather weather;
  Moods moods;
  Episodes episodes;
};

// The seed draws the rates too: some faults at none, some hardly, some very often.
Rates draw_rates(const Faults& faults, Random random);

}  // namespace berth::sim

template <>
struct berth::model::Names<berth::sim::Fault> {
  static constexpr std::string_view kWhat = "fault";
  static constexpr std::array kTable{
      Word<sim::Fault>{sim::Fault::Loss, "loss"},
      Word<sim::Fault>{sim::Fault::Delay, "delay"},
      Word<sim::Fault>{sim::Fault::Duplicate, "duplicate"},
      Word<sim::Fault>{sim::Fault::Reorder, "reorder"},
      Word<sim::Fault>{sim::Fault::Partition, "partition"},
      Word<sim::Fault>{sim::Fault::Crash, "crash"},
      Word<sim::Fault>{sim::Fault::Disk, "disk"},
      Word<sim::Fault>{sim::Fault::Runtime, "runtime"},
      Word<sim::Fault>{sim::Fault::Readiness, "readiness"},
      Word<sim::Fault>{sim::Fault::LostStore, "lost-store"},
      Word<sim::Fault>{sim::Fault::Fsync, "fsync"},
      Word<sim::Fault>{sim::Fault::Stall, "stall"},
      Word<sim::Fault>{sim::Fault::Clock, "clock"},
      Word<sim::Fault>{sim::Fault::Clone, "clone"},
  };
};
