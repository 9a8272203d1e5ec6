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

// One that has made room in this round, and has not looked for another place yet.
struct Displaced {
  std::size_t request;
  Holding held;
};

class Displacement {
 public:
  Displacement(Board& board, std::size_t newcomer, std::vector<Displaced>& displaced)
      : board_(board), newcomer_(newcomer), displaced_(displaced) {}

  // Nobody makes room if that would not help.
  void carry_out() {
    if (!newcomer().displaces) return;
    const RequestList displaceable = find_displaceable();
    if (displaceable.empty()) return;
    Ledger room = room_for_the_newcomer();
    const auto choice = choose_without(displaceable, room);
    if (!choice) return;
    make_room(displaceable, *choice, room);
    board_.place_at(newcomer_, *choice, "placed where lower priorities made room");
  }

 private:
  const Ask& newcomer() const { return board_.requests()[newcomer_]; }
  std::int64_t priority(std::size_t position) const { return board_.requests()[position].priority; }

  bool is_displaceable(std::size_t position) const {
    return board_.seat(position).choice.has_value() && !is_pinned(board_.requests()[position]);
  }

  // In scheduling order, lower priorities come after all of the newcomer's own.
  RequestList find_displaceable() const {
    const auto& requests = board_.requests();
    const auto lower = std::ranges::partition_point(
        requests, [this](const Ask& request) { return request.priority >= newcomer().priority; });
    RequestList displaceable;
    for (auto i = static_cast<std::size_t>(lower - requests.begin()); i < requests.size(); ++i) {
      if (is_displaceable(i)) displaceable.push_back(i);
    }
    return displaceable;
  }

  // What its equals have just left to a higher priority is theirs until they are settled: that may
  // have needed less of it, and nobody that runs is stopped for an equal.
  Ledger room_for_the_newcomer() const {
    Ledger room = board_.ledger();
    for (const auto& [request, held] : displaced_) {
      if (priority(request) >= priority(newcomer_)) room.reserve(held);
    }
    return room;
  }

  std::optional<Choice> choose_without(const RequestList& displaceable, Ledger& room) const {
    for (const std::size_t position : displaceable) room.release(*board_.seat(position).holding);
    const auto choice = board_.pipeline_on(room).choose(newcomer());
    for (const std::size_t position : displaceable) room.reserve(*board_.seat(position).holding);
    return choice;
  }

  std::vector<Figure> figures_for(const Choice& choice, const Ledger& room) const {
    return figures_at(room, *newcomer().item, choice.slot, choice.asked);
  }

  bool fits(const Choice& choice, const Ledger& room) const {
    return std::ranges::none_of(figures_for(choice, room), is_short);
  }

  bool could_help(std::size_t position, const Choice& choice) const {
    return board_.ledger().same_partition(board_.seat(position).holding->node, choice.slot.node);
  }

  void make_room(const RequestList& displaceable, const Choice& choice, Ledger& room) {
    for (auto it = displaceable.rbegin(); it != displaceable.rend() && !fits(choice, room); ++it) {
      const std::size_t position = *it;
      if (!could_help(position, choice)) continue;
      const auto before = figures_for(choice, room);
      const Holding held = *board_.seat(position).holding;
      room.release(held);
      const bool helps = improves_a_shortage(before, figures_for(choice, room));
      if (!helps) {
        room.reserve(held);
        continue;
      }
      board_.displace(position, newcomer_);
      displaced_.push_back({position, held});
    }
  }

  Board& board_;
  const std::size_t newcomer_;
  std::vector<Displaced>& displaced_;
};

}  // namespace

// A higher priority gets its place: where it would fit without the lower ones, they make room, the
// last scheduled first and only those whose going helps. The displaced look for another place.
RequestList displace_round(Board& board, const RequestList& refused) {
  std::vector<Displaced> displaced;
  std::optional<std::size_t> before;  // the last that nobody made room for, and the room of then
  std::uint64_t room = 0;
  for (const std::size_t request : refused) {
    if (!board.is_wanted()) return {};
    const auto& requests = board.requests();
    if (before && room == board.version() && ask_alike(requests[request], requests[*before])) {
      continue;
    }
    room = board.version();
    Displacement(board, request, displaced).carry_out();
    before = request;
  }
  RequestList next;
  for (const auto& [request, held] : displaced) next.push_back(request);
  std::ranges::sort(next);
  return next;
}

}  // namespace berth::placement
