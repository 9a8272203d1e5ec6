#include "placement/asked.h"

#include <algorithm>

namespace berth::placement {
namespace {

constexpr std::uint32_t kDefaultRatio = 50;
constexpr std::uint32_t kMaxRatio = 100;

template <class Q>
struct Wish {
  std::optional<Q> request;
  std::optional<Q> quota;
  std::optional<std::uint32_t> ratio;
  std::optional<std::uint32_t> default_percent;
  Q capacity;
};

template <class Q>
Q asked(const Wish<Q>& wish) {
  if (wish.request) return wish.quota ? std::min(*wish.request, *wish.quota) : *wish.request;
  if (wish.quota) {
    return percent_rounded_half_up(*wish.quota,
                                   std::min(wish.ratio.value_or(kDefaultRatio), kMaxRatio));
  }
  if (wish.default_percent) return percent_rounded_half_up(wish.capacity, *wish.default_percent);
  return Q{};
}

bool asks_nothing(const model::Item& item) {
  return item.skip_resource_limits || item.type == model::ItemType::Component;
}

}  // namespace

Amounts asked_of(const model::Item& item, const model::Usage& capacity,
                 const model::NodeSettings& settings) {
  if (asks_nothing(item)) return {};
  const auto& [request, quotas] = std::tie(item.request, item.quotas);
  const model::DefaultRequest& defaults = settings.default_request;
  return {
      .cpu =
          asked<Dmips>({request.cpu, quotas.cpu, settings.ratios.cpu, defaults.cpu, capacity.cpu}),
      .ram =
          asked<Bytes>({request.ram, quotas.ram, settings.ratios.ram, defaults.ram, capacity.ram}),
      .storage =
          asked<Bytes>({request.storage, quotas.storage, settings.ratios.storage, {}, Bytes{}}),
      .state = asked<Bytes>({request.state, quotas.state, settings.ratios.state, {}, Bytes{}}),
  };
}

std::set<std::string> taken_resources(const model::Item& item) {
  if (item.skip_resource_limits) return {};
  return {item.shared_resources.begin(), item.shared_resources.end()};
}

Amounts raised_to_measured(Amounts asked, const model::Item& item, const model::Usage& measured) {
  if (asks_nothing(item)) return asked;
  asked.cpu = std::max(asked.cpu, measured.cpu);
  asked.ram = std::max(asked.ram, measured.ram);
  return asked;
}

}  // namespace berth::placement
