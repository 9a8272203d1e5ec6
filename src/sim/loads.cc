#include "sim/loads.h"

namespace berth::sim {
namespace {

constexpr Duration kWindow = 60s;

// FNV-1a: the same on every machine.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

Loads draw_loads(std::uint64_t seed, const model::Usage& most) {
  return {.of =
              [seed, most](const model::InstanceKey& key, Time) {
                Random random(seed ^ hash_of(to_string(key)));
                const Dmips cpu(random.between(0, most.cpu.count()));
                return model::Usage{cpu, Bytes(random.between(0, most.ram.count()))};
              },
          .noise_percent = 0};
}

model::Usage LoadMeter::sample(const model::InstanceKey& key, Time now) {
  const model::Usage exact = loads_.of(key, now);
  auto& samples = samples_[key];
  samples.push_back(
      {now, {Dmips(with_noise(exact.cpu.count())), Bytes(with_noise(exact.ram.count()))}});
  while (samples.front().at <= now - kWindow) samples.pop_front();
  model::Usage sum;
  for (const Sample& each : samples) sum = sum + each.usage;
  const auto count = static_cast<std::int64_t>(samples.size());
  return {Dmips(sum.cpu.count() / count), Bytes(sum.ram.count() / count)};
}

std::int64_t LoadMeter::with_noise(std::int64_t amount) {
  if (loads_.noise_percent == 0) return amount;
  const std::int64_t most = amount * loads_.noise_percent / 100;
  return amount + random_.between(-most, most);
}

}  // namespace berth::sim
