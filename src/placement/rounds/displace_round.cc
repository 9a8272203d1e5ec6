#include <algorithm>

#include "placement/room.h"
#include "placement/rounds/rounds.h"

namespace berth::placement {
namespace {

bool improves_a_shortage(const std::vector<Figure>& before, const std::vector<Figure>& after) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (is_short(before[i]) && after[i].has > before[i].has) return true;
  }
  return false;
}

class Displacement {
 public:
  Displacement(Board& board, std::size_t newcomer) : board_(board), newcomer_(newcomer) {}

  // Gives those that made room, in reverse scheduling order; nobody does if it would not help.
  RequestList carry_out() {
    const RequestList displaceable = find_displaceable();
    if (displaceable.empty()) return {};
    const auto choice = choose_without(displaceable);
    if (!choice) return {};
    RequestList displaced = make_room(displaceable, *choice);
    board_.place_at(newcomer_, *choice, "placed where lower priorities made room");
    return displaced;
  }

 private:
  const Request& newcomer() const { return board_.requests()[newcomer_]; }

  bool is_displaceable(std::size_t position) const {
    return board_.seat(position).choice.has_value() &&
           !model::is_pinned(*board_.requests()[position].item);
  }

  // In scheduling order, lower priorities come after all of the newcomer's own.
  RequestList find_displaceable() const {
    const auto& requests = board_.requests();
    const auto lower = std::ranges::partition_point(requests, [this](const Request& request) {
      return request.run->priority >= newcomer().run->priority;
    });
    RequestList displaceable;
    for (auto i = static_cast<std::size_t>(lower - requests.begin()); i < requests.size(); ++i) {
      if (is_displaceable(i)) displaceable.push_back(i);
    }
    return displaceable;
  }

  std::optional<Choice> choose_without(const RequestList& displaceable) const {
    Ledger without = board_.ledger();
    for (const std::size_t position : displaceable) without.release(*board_.seat(position).holding);
    return board_.pipeline_on(without).choose(newcomer());
  }

  std::vector<Figure> figures_for(const Choice& choice) const {
    return figures_at(board_.ledger(), *newcomer().item, choice.slot, choice.asked);
  }

  bool fits(const Choice& choice) const {
    return std::ranges::none_of(figures_for(choice), is_short);
  }

  bool could_help(std::size_t position, const Choice& choice) const {
    return board_.ledger().same_partition(board_.seat(position).holding->node, choice.slot.node);
  }

  RequestList make_room(const RequestList& displaceable, const Choice& choice) {
    RequestList displaced;
    for (auto it = displaceable.rbegin(); it != displaceable.rend() && !fits(choice); ++it) {
      const std::size_t position = *it;
      if (!could_help(position, choice)) continue;
      const auto before = figures_for(choice);
      board_.release(position);
      const bool helps = improves_a_shortage(before, figures_for(choice));
      board_.reserve(position);
      if (!helps) continue;
      board_.displace(position, newcomer_);
      displaced.push_back(position);
    }
    return displaced;
  }

  Board& board_;
  const std::size_t newcomer_;
};

}  // namespace

// A higher priority gets its place: where it would fit without the lower ones, they make room, the
// last scheduled first and only those whose going helps. The displaced look for another place.
RequestList displace_round(Board& board, const RequestList& refused) {
  RequestList displaced;
  for (const std::size_t request : refused) {
    if (!board.is_wanted()) return {};
    const RequestList more = Displacement(board, request).carry_out();
    displaced.insert(displaced.end(), more.begin(), more.end());
  }
  std::ranges::sort(displaced);
  return displaced;
}

}  // namespace berth::placement
