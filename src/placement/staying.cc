#include "placement/staying.h"

namespace berth::placement {
namespace {

bool is_evicted(const SnapshotNode& node, const Ask& request) {
  return node.evicting.contains(request.present->place.runtime) && !is_pinned(request) &&
         !request.item->tolerates.contains(model::Toleration::RuntimeNotReady);
}

}  // namespace

bool has_finished(const Ask& request) {
  return request.present->finished && !request.outdated &&
         request.present->version == request.item->version;
}

// A component belongs to its node, and stays through a drain; so does what no longer runs.
Drain drain_of(const Ask& request, const SnapshotNode* node) {
  if (request.item->type == model::ItemType::Component) return Drain::No;
  if (has_finished(request) || node == nullptr) return Drain::No;
  if (request.present->returning && node->drain != Drain::Now) return Drain::No;
  return node->drain == Drain::No && is_evicted(*node, request) ? Drain::Gently : node->drain;
}

}  // namespace berth::placement
