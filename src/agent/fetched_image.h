#pragma once

#include <string>
#include <variant>

#include "model/instance.h"

namespace berth::agent {

// The image that has to be on the node before the instance can run, and may take minutes to get
// there; nullptr: there is nothing to fetch. Components are brought by their own runtimes.
inline const std::string* fetched_image_of(const model::InstanceSpec& spec) {
  if (spec.item.type == model::ItemType::Component) return nullptr;
  if (spec.image >= spec.item.images.size()) return nullptr;
  const auto* image = std::get_if<model::OciImage>(&spec.item.images[spec.image].form);
  return image == nullptr ? nullptr : &image->reference;
}

}  // namespace berth::agent
