#include <algorithm>
#include <ranges>

#include "placement/rounds/rounds.h"

namespace berth::placement {
namespace {

// One of the amounts that an instance needs at a place.
struct Figure {
  std::int64_t has = 0;
  std::int64_t asked = 0;

  bool lacks() const { return has < asked; }
};

// What the request would have at the place. Room of the node and of the runtime's cap are figures
// of their own: freeing one does not help the other.
std::vector<Figure> figures_at(const Board& board, const Request& request, const Choice& choice) {
  const Ledger& ledger = board.ledger();
  const Slot slot = choice.slot;
  std::vector<Figure> figures{
      {ledger.node_cpu_left(slot.node, SystemUsage::Counted).count(), choice.asked.cpu.count()},
      {ledger.node_ram_left(slot.node, SystemUsage::Counted).count(), choice.asked.ram.count()},
  };
  const auto add = [&](auto left, auto asked) {
    if (left) figures.push_back({left->count(), asked.count()});
  };
  add(ledger.runtime_cpu_left(slot), choice.asked.cpu);
  add(ledger.runtime_ram_left(slot), choice.asked.ram);
  add(ledger.storage_left(slot.node), choice.asked.storage);
  add(ledger.state_left(slot.node, choice.asked.storage), choice.asked.state);
  if (const auto left = ledger.instances_left(slot)) figures.push_back({*left, 1});
  if (request.item->skip_resource_limits) return figures;
  for (const std::string& resource : request.item->shared_resources) {
    if (const auto left = ledger.shared_left(slot.node, resource)) figures.push_back({*left, 1});
  }
  return figures;
}

// Asking for nothing is never short of anything, whatever was kept past the rules.
bool is_short(const Figure& figure) { return figure.asked > 0 && figure.lacks(); }

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
    board_.place(newcomer_, *choice, "placed where lower priorities made room");
    return displaced;
  }

 private:
  const Request& newcomer() const { return board_.requests()[newcomer_]; }

  bool is_displaceable(std::size_t position) const {
    const Request& request = board_.requests()[position];
    return board_.seat(position).choice && request.run->priority < newcomer().run->priority &&
           !model::is_pinned(*request.item);
  }

  RequestList find_displaceable() const {
    RequestList displaceable;
    for (std::size_t i = newcomer_ + 1; i < board_.requests().size(); ++i) {
      if (is_displaceable(i)) displaceable.push_back(i);
    }
    return displaceable;
  }

  std::optional<Choice> choose_without(const RequestList& displaceable) const {
    Ledger without = board_.ledger();
    for (const std::size_t position : displaceable) without.release(*board_.seat(position).holding);
    return board_.pipeline_on(without).choose(newcomer());
  }

  bool fits(const Choice& choice) const {
    return std::ranges::none_of(figures_at(board_, newcomer(), choice), is_short);
  }

  bool could_help(std::size_t position, const Choice& choice) const {
    return board_.ledger().same_partition(board_.seat(position).holding->node, choice.slot.node);
  }

  RequestList make_room(const RequestList& displaceable, const Choice& choice) {
    RequestList displaced;
    for (const std::size_t position : std::views::reverse(displaceable)) {
      if (fits(choice)) break;
      if (!could_help(position, choice)) continue;
      const auto before = figures_at(board_, newcomer(), choice);
      board_.release(position);
      const bool helps = improves_a_shortage(before, figures_at(board_, newcomer(), choice));
      board_.reserve(position);
      if (!helps) continue;
      board_.unseat(position);
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
    const RequestList more = Displacement(board, request).carry_out();
    displaced.insert(displaced.end(), more.begin(), more.end());
  }
  std::ranges::sort(displaced);
  return displaced;
}

}  // namespace berth::placement
