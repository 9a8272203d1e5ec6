#include "placement/room.h"

namespace berth::placement {

std::vector<Figure> figures_at(const Ledger& ledger, const model::Item& item, Slot slot,
                               const Amounts& asked) {
  std::vector<Figure> figures{
      {ledger.node_cpu_left(slot.node, SystemUsage::Counted).count(), asked.cpu.count()},
      {ledger.node_ram_left(slot.node, SystemUsage::Counted).count(), asked.ram.count()},
  };
  const auto add = [&](auto left, auto amount) {
    if (left) figures.push_back({left->count(), amount.count()});
  };
  add(ledger.runtime_cpu_left(slot), asked.cpu);
  add(ledger.runtime_ram_left(slot), asked.ram);
  add(ledger.storage_left(slot.node), asked.storage);
  add(ledger.state_left(slot.node, asked.storage), asked.state);
  if (const auto left = ledger.instances_left(slot)) figures.push_back({*left, 1});
  if (item.skip_resource_limits) return figures;
  for (const std::string& resource : item.shared_resources) {
    if (const auto left = ledger.shared_left(slot.node, resource)) figures.push_back({*left, 1});
  }
  return figures;
}

}  // namespace berth::placement
