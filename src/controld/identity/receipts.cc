#include "controld/identity/receipts.h"

#include <fmt/format.h>

#include <utility>

#include "trust/seal.h"

namespace berth::controld {
namespace {

std::string text_of(const model::NodeId& node, const model::Receipt& receipt) {
  const std::string command = fmt::format("{} {} {}.{}", receipt.cluster, node.value(),
                                          receipt.number.epoch, receipt.number.number);
  // Those of an earlier release are still good.
  return receipt.life == 0 ? command : fmt::format("{} {:x}", command, receipt.life);
}

}  // namespace

Receipts::Receipts(const trust::Authority& authority, std::string cluster, std::uint64_t life)
    : key_(trust::seal(authority.pem().key, "receipts of commands")),
      cluster_(std::move(cluster)),
      life_(life) {}

model::Receipt Receipts::make(const model::NodeId& node, const model::CommandNumber& number) const {
  model::Receipt receipt{cluster_, number, "", life_};
  receipt.seal = trust::seal(key_, text_of(node, receipt));
  return receipt;
}

bool Receipts::is_genuine(const model::NodeId& node, const model::Receipt& receipt) const {
  return trust::is_sealed(key_, text_of(node, receipt), receipt.seal);
}

}  // namespace berth::controld
