#include "placement/cluster/shapes.h"

#include <algorithm>

#include "placement/asked.h"

namespace berth::placement {
namespace {

// More than a sorted batch needs at a time. Each takes an eighth of a byte per node and image.
constexpr std::size_t kShapesMax = 1024;

bool is_same_everywhere(const model::Item& item) {
  const auto is_given = [&](auto resource) {
    return (item.request.*resource).has_value() || !(item.quotas.*resource).has_value();
  };
  // Of cpu and ram, nodes may have a part that is asked for by default.
  return item.request.cpu && item.request.ram && is_given(&model::ResourceSpec::storage) &&
         is_given(&model::ResourceSpec::state);
}

void learn_amounts(Shape& shape) {
  const model::Item& item = *shape.item;
  const bool asks_nothing = item.skip_resource_limits || item.type == model::ItemType::Component;
  if (asks_nothing || is_same_everywhere(item)) {
    shape.asked = asked_of(item, {}, {});
    shape.least = {shape.asked->cpu.count(), shape.asked->ram.count()};
  }
  const auto asks = [&](auto resource) {
    return (item.request.*resource).has_value() || (item.quotas.*resource).has_value();
  };
  shape.asks_for_disk =
      !asks_nothing && (asks(&model::ResourceSpec::storage) || asks(&model::ResourceSpec::state));
}

Shape shape_of(const Ask& request) {
  Shape shape;
  shape.item = request.item;
  shape.labels.assign(request.labels.begin(), request.labels.end());
  shape.nodes.assign(request.nodes.begin(), request.nodes.end());
  shape.images.resize(request.item->images.size());
  shape.takes_shared =
      !request.item->skip_resource_limits && !request.item->shared_resources.empty();
  learn_amounts(shape);
  return shape;
}

std::size_t hash_of(const model::Item& item, std::span<const std::string> labels,
                    std::span<const model::NodeId> nodes) {
  std::size_t hash = std::hash<const model::Item*>{}(&item);
  const auto add = [&](const std::string& text) {
    hash = (hash ^ std::hash<std::string>{}(text)) * 0x9e3779b97f4a7c15u;
  };
  for (const std::string& label : labels) add(label);
  for (const model::NodeId& node : nodes) add(node.value());
  return hash;
}

}  // namespace

bool is_shape_of(const Shape& shape, const Ask& request) {
  return shape.item == request.item && std::ranges::equal(shape.labels, request.labels) &&
         std::ranges::equal(shape.nodes, request.nodes);
}

Shape& Shapes::of(const Ask& request) {
  if (!shapes_.empty() && is_shape_of(shapes_.front(), request)) return shapes_.front();
  const std::size_t hash = hash_of(*request.item, request.labels, request.nodes);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (!is_shape_of(*it->second, request)) continue;
    shapes_.splice(shapes_.begin(), shapes_, it->second);
    return shapes_.front();
  }
  if (shapes_.size() == kShapesMax) forget_oldest();
  shapes_.push_front(shape_of(request));
  by_hash_.emplace(hash, shapes_.begin());
  return shapes_.front();
}

void Shapes::forget_oldest() {
  const Shape& oldest = shapes_.back();
  const Place place = std::prev(shapes_.end());
  const auto [first, last] =
      by_hash_.equal_range(hash_of(*oldest.item, oldest.labels, oldest.nodes));
  by_hash_.erase(
      std::find_if(first, last, [&](const auto& entry) { return entry.second == place; }));
  shapes_.pop_back();
}

void Shapes::forget() {
  by_hash_.clear();
  shapes_.clear();
}

std::size_t Shapes::bytes() const {
  std::size_t bytes = 0;
  for (const Shape& shape : shapes_) {
    bytes += sizeof(Shape);
    for (const ShapeImage& image : shape.images) {
      bytes += image.runtimes.capacity() * sizeof(KindAnswer) + image.rows.capacity() * 8;
    }
  }
  return bytes;
}

}  // namespace berth::placement
