#include <algorithm>

#include "placement/rounds/rounds.h"

namespace berth::placement {
namespace {

bool fits_there(const Board& board, const Ask& request, std::uint32_t image, Slot slot) {
  const auto refusals =
      board.pipeline().all_refusals(request, image, slot.node, slot.runtime, Purpose::Keep);
  return std::ranges::none_of(refusals, [](const auto& refusal) {
    return refusal.first == Reason::NoMatchingRuntimeType ||
           refusal.first == Reason::NoMatchingPlatform;
  });
}

// The first image whose type and platform fit there, else the first.
std::uint32_t image_for(const Board& board, const Ask& request, Slot slot) {
  for (std::uint32_t image = 0; image < request.item->images.size(); ++image) {
    if (fits_there(board, request, image, slot)) return image;
  }
  return 0;
}

bool in_contact(const SnapshotNode& node) {
  return node.reachability != Reachability::Lost &&
         node.info->state == model::NodeState::Provisioned;
}

Rejection rejected(const Board& board, std::optional<std::size_t> node, Reason reason) {
  if (!node || !in_contact(board.nodes()[*node])) reason = Reason::NoConnectedNodes;
  Rejection rejection{.reason = reason, .image = 0, .verdicts = {}};
  if (node) rejection.verdicts.push_back({*node, nullptr, nullptr, reason, {}});
  return rejection;
}

void stay(Board& board, std::size_t position) {
  const Ask& request = board.requests()[position];
  const model::Place& place = request.present->place;
  const auto node = board.find_node(place.node);
  const auto runtime = node ? board.find_runtime(*node, place.runtime) : std::nullopt;
  if (!runtime || !in_contact(board.nodes()[*node])) {
    board.leave_alone(position, rejected(board, node, Reason::NoMatchingRuntimeType));
    return;
  }
  const Slot slot{*node, *runtime};
  const std::uint32_t image = image_for(board, request, slot);
  const Amounts asked = board.pipeline().asked(request, *request.item, slot.node);
  board.keep(position, {slot, image, asked}, "pinned to " + model::to_string(place));
}

}  // namespace

// Rebalancing never moves a pinned instance: it stays past all rules, and what it asks for is
// reserved before anybody else's turn.
RequestList policy_pass(Board& board) {
  RequestList rest;
  for (std::size_t i = 0; i < board.requests().size(); ++i) {
    if (!board.is_wanted()) return {};
    const Ask& request = board.requests()[i];
    if (is_left_alone(request)) {
      stay(board, i);
    } else {
      rest.push_back(i);
    }
  }
  return rest;
}

}  // namespace berth::placement
