#include "control/network/network_need.h"

#include <variant>

namespace berth::control {
namespace {

bool has_network(const model::ImageForm& form) {
  return std::holds_alternative<model::OciImage>(form) ||
         std::holds_alternative<model::VmImage>(form);
}

}  // namespace

const model::Item* networked_item(const Context& context, const model::ItemKey& key,
                                  std::uint32_t image, const model::NodeId& node) {
  const ObservedNode* observed = context.find_node(node);
  if (observed == nullptr || !observed->info.address) return nullptr;
  const auto& items = context.state.durable().items;
  const auto item = items.find(key);
  if (item == items.end() || item->second.type != model::ItemType::Service) return nullptr;
  const auto& images = item->second.images;
  return image < images.size() && has_network(images[image].form) ? &item->second : nullptr;
}

const model::Item* networked_item(const Context& context, const model::InstanceRecord& record) {
  if (!record.place || record.type != model::ItemType::Service) return nullptr;
  return networked_item(context, {record.key.item, record.version}, record.image,
                        record.place->node);
}

}  // namespace berth::control
