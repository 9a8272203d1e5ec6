#include "sim/faults.h"

#include <array>

#include "sim/draw.h"

namespace berth::sim {
namespace {

constexpr auto& kFaults = model::Names<Fault>::kTable;

// Every number is drawn whether its fault is asked for or not, so that leaving out one fault
// leaves the others as they are.
class Dice {
 public:
  Dice(const Faults& faults, Random random) : faults_(faults), random_(random) {}

  std::uint64_t ppm(Fault fault, std::uint64_t max) {
    constexpr std::array<std::uint64_t, 4> kShare{0, 20, 5, 1};
    const std::uint64_t share = kShare[random_.below(kShare.size())];
    const std::uint64_t drawn = random_.below(max) + 1;
    return share == 0 || !faults_.contains(fault) ? 0 : drawn / share;
  }

  Duration every(Fault fault, Duration shortest) {
    constexpr std::array<std::int64_t, 4> kTimes{0, 1, 3, 8};
    const std::int64_t times = kTimes[random_.below(kTimes.size())];
    return faults_.contains(fault) ? shortest * times : Duration{};
  }

 private:
  const Faults& faults_;
  Random random_;
};

}  // namespace

Faults all_faults() {
  Faults faults;
  for (const auto& [fault, word] : kFaults) faults.insert(fault);
  return faults;
}

Result<Faults> parse_faults(std::string_view list) {
  if (list == "all") return all_faults();
  if (list == "none" || list.empty()) return Faults{};
  Faults faults;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    const auto fault = model::from_string<Fault>(word);
    if (!fault) return invalid_input("unknown fault '" + std::string(word) + "'");
    faults.insert(*fault);
  }
  return faults;
}

std::string to_string(const Faults& faults) {
  if (faults.empty()) return "none";
  if (faults == all_faults()) return "all";
  std::string text;
  for (const Fault fault : faults) {
    if (!text.empty()) text += ',';
    text += model::to_string(fault);
  }
  return text;
}

Rates draw_rates(const Faults& faults, Random random) {
  Dice dice(faults, random.fork());
  Rates rates;
  rates.weather = {.loss = dice.ppm(Fault::Loss, 150'000),
                   .duplicate = dice.ppm(Fault::Duplicate, 200'000),
                   .reorder = dice.ppm(Fault::Reorder, 200'000),
                   .delay = dice.ppm(Fault::Delay, 200'000),
                   .delay_max = draw(random, 100ms, 20s)};
  rates.moods = {.slow_start = dice.ppm(Fault::Runtime, 300'000),
                 .failed_start = dice.ppm(Fault::Runtime, 200'000),
                 .lie = dice.ppm(Fault::Runtime, 100'000),
                 .repeat = dice.ppm(Fault::Runtime, 200'000),
                 .exit_every = dice.every(Fault::Runtime, 30s),
                 .sick_every = dice.every(Fault::Runtime, 60s)};
  rates.episodes = {.partition_every = dice.every(Fault::Partition, 30s),
                    .reset_every = dice.every(Fault::Partition, 20s),
                    .controller_crash_every = dice.every(Fault::Crash, 40s),
                    .agent_crash_every = dice.every(Fault::Crash, 40s),
                    .reboot_every = dice.every(Fault::Crash, 80s),
                    .full_disk_every = dice.every(Fault::Disk, 80s),
                    .slow_disk_every = dice.every(Fault::Disk, 60s),
                    .hang_every = dice.every(Fault::Runtime, 80s),
                    .not_ready_every = dice.every(Fault::Readiness, 30s),
                    .node_error_every = dice.every(Fault::Readiness, 120s),
                    .lost_store_every = dice.every(Fault::LostStore, 60s),
                    .lying_disk_every = dice.every(Fault::Fsync, 40s),
                    .stall_every = dice.every(Fault::Stall, 40s),
                    .clock_jump_every = dice.every(Fault::Clock, 60s),
                    .clone_every = dice.every(Fault::Clone, 120s)};
  return rates;
}

}  // namespace berth::sim
