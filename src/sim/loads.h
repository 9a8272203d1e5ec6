#pragma once

#include <deque>
#include <functional>
#include <map>

#include "base/random.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/node.h"

namespace berth::sim {

// How much instances really use, wherever they run.
struct Loads {
  std::function<model::Usage(const model::InstanceKey&, Time now)> of;
  std::uint32_t noise_percent = 0;  // by which a measurement is off at most, up or down
};

// For each instance a load of its own, the same for the whole run.
Loads draw_loads(std::uint64_t seed, const model::Usage& most);

// What a machine measures: the average of each instance over the last minute that it ran.
class LoadMeter {
 public:
  LoadMeter(const Loads& loads, Random random) : loads_(loads), random_(random) {}

  using Averages = std::map<model::InstanceKey, model::Usage>;

  template <class Keys>
  Averages measure(const Keys& running, Time now) {
    std::erase_if(samples_, [&](const auto& entry) { return !running.contains(entry.first); });
    Averages averages;
    for (const model::InstanceKey& key : running) averages.emplace(key, sample(key, now));
    return averages;
  }

 private:
  struct Sample {
    Time at;
    model::Usage usage;
  };

  model::Usage sample(const model::InstanceKey& key, Time now);
  std::int64_t with_noise(std::int64_t amount);

  const Loads& loads_;
  Random random_;
  std::map<model::InstanceKey, std::deque<Sample>> samples_;
};

}  // namespace berth::sim
