#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "placement/relief_search.h"
#include "placement/rounds/rounds.h"
#include "placement/thresholds.h"

namespace berth::placement {
namespace {

// How many sets of instances are tried on the other nodes before an overloaded node is given up.
constexpr int kSetsTriedMax = 1000;

// What an overloaded node must lose, 0 of what it is not overloaded with.
model::Usage excess_of(const Board& board, std::size_t node) {
  const SnapshotNode& view = board.nodes()[node];
  const model::Usage goal = relieved_capacity(view.info->capacity, view.settings.thresholds);
  const model::Usage over = board.planned().of(node) - goal;
  return {view.overloaded.cpu ? std::max(over.cpu, Dmips{}) : Dmips{},
          view.overloaded.ram ? std::max(over.ram, Bytes{}) : Bytes{}};
}

// One overloaded node, from which as few as possible shall go.
class Relieving {
 public:
  Relieving(Board& board, std::size_t node)
      : board_(board), node_(node), need_(excess_of(board, node)) {}

  Relief carry_out() {
    Relief relief = describe();
    if (need_ != model::Usage{}) relieve(relief);
    relief.planned = board_.planned().of(node_);
    return relief;
  }

 private:
  struct Assignment {
    std::size_t request;
    Choice choice;
  };
  using Assignments = std::vector<Assignment>;

  const SnapshotNode& view() const { return board_.nodes()[node_]; }
  const Ask& request(std::size_t position) const { return board_.requests()[position]; }
  std::int64_t priority(std::size_t position) const { return request(position).priority; }

  Relief describe() const {
    return {.node = view().id,
            .overloaded = view().overloaded,
            .capacity = view().info->capacity,
            .before = *view().usage,
            .planned = {},
            .goal = relieved_capacity(view().info->capacity, view().settings.thresholds),
            .leaving = {},
            .unrelieved = std::nullopt,
            .detail = {}};
  }

  void relieve(Relief& relief) {
    const RequestList movable = find_movable();
    if (movable.empty()) {
      relief.unrelieved = Unrelieved::NothingMayMove;
    } else if (!ReliefSearch(movers(movable, movable.size()), need_, relief.capacity)
                    .can_relieve()) {
      relief.unrelieved = Unrelieved::TooLittleMayMove;
    } else if (const auto assignments = find_assignments(with_another_place(movable))) {
      move(*assignments, relief);
    } else {
      relief.unrelieved = Unrelieved::NoOtherPlace;
      relief.detail = why_not(movable);
    }
  }

  // In reverse scheduling order: the lowest priorities come first.
  RequestList find_movable() const {
    RequestList movable;
    for (std::size_t i = board_.requests().size(); i-- > 0;) {
      if (may_move(i) && helps(i)) movable.push_back(i);
    }
    return movable;
  }

  bool may_move(std::size_t position) const {
    const Ask& asked = request(position);
    const auto& choice = board_.seat(position).choice;
    return choice && choice->slot.node == node_ && asked.present != nullptr &&
           asked.present->place.node == view().id && !is_pinned(asked);
  }

  bool helps(std::size_t position) const {
    const model::Usage& measured = request(position).present->measured;
    return (need_.cpu > Dmips{} && measured.cpu > Dmips{}) ||
           (need_.ram > Bytes{} && measured.ram > Bytes{});
  }

  // Who cannot go alone cannot go with others either: looking at them no more saves most of the
  // work where nothing helps.
  RequestList with_another_place(const RequestList& movable) const {
    RequestList placeable;
    for (const std::size_t position : movable) {
      if (!board_.is_wanted()) return {};
      if (assign({position})) placeable.push_back(position);
    }
    return placeable;
  }

  // The first `count` of them, of which those of the highest priority among these are required.
  std::vector<ReliefSearch::Mover> movers(const RequestList& requests, std::size_t count) const {
    std::vector<ReliefSearch::Mover> movers;
    for (std::size_t i = 0; i < count; ++i) {
      movers.push_back({.usage = request(requests[i]).present->measured,
                        .is_required = priority(requests[i]) == priority(requests[count - 1])});
    }
    return movers;
  }

  // From the fewest priority classes, counted from the lowest up. Sets without anybody of the
  // highest of them have been tried before.
  std::optional<Assignments> find_assignments(const RequestList& placeable) {
    for (std::size_t end = 1; end <= placeable.size(); ++end) {
      const bool class_ends =
          end == placeable.size() || priority(placeable[end]) != priority(placeable[end - 1]);
      if (!class_ends) continue;
      if (auto found = find_assignments(placeable, end)) return found;
    }
    return std::nullopt;
  }

  std::optional<Assignments> find_assignments(const RequestList& placeable, std::size_t count) {
    ReliefSearch search(movers(placeable, count), need_, view().info->capacity);
    while (tried_ < kSetsTriedMax && board_.is_wanted()) {
      const auto set = search.next();
      if (!set) return std::nullopt;
      ++tried_;
      RequestList leaving;
      for (auto it = set->rbegin(); it != set->rend(); ++it) leaving.push_back(placeable[*it]);
      if (auto assignments = assign(leaving)) return assignments;
    }
    return std::nullopt;
  }

  // Where the pipeline puts them, in scheduling order, when all of them have left; nullopt if one
  // finds no place.
  std::optional<Assignments> assign(const RequestList& leaving) const {
    Ledger ledger = board_.ledger();
    PlannedUsage planned = board_.planned();
    for (const std::size_t position : leaving) ledger.release(*board_.seat(position).holding);
    Assignments assignments;
    for (const std::size_t position : leaving) {
      const auto choice = board_.pipeline_on(ledger, planned).choose(request(position));
      if (!choice) return std::nullopt;
      ledger.reserve(board_.holding_for(position, *choice));
      planned.come(choice->slot.node, request(position).present->measured);
      assignments.push_back({position, *choice});
    }
    return assignments;
  }

  void move(const Assignments& assignments, Relief& relief) {
    for (const Assignment& one : assignments) board_.unseat(one.request);
    for (const auto& [position, choice] : assignments) {
      board_.place_at(position, choice, "leaves " + view().id.value() + ", which is overloaded");
      relief.leaving.push_back(request(position).key);
    }
  }

  std::string why_not(const RequestList& movable) const {
    const auto stuck =
        std::ranges::find_if(movable, [this](std::size_t position) { return !assign({position}); });
    if (stuck == movable.end()) {
      return "each of those that would do has another place, but not all of them together";
    }
    return fmt::format("{} has no other place: {}", model::to_string(request(*stuck).key),
                       reason_elsewhere(*stuck));
  }

  // How far the furthest of the other nodes got.
  std::string_view reason_elsewhere(std::size_t position) const {
    Ledger ledger = board_.ledger();
    ledger.release(*board_.seat(position).holding);
    Rejection rejection = board_.pipeline_on(ledger, board_.planned()).reject(request(position));
    std::erase_if(rejection.verdicts, [this](const Verdict& at) { return at.node == node_; });
    if (rejection.verdicts.empty()) return "there is no other node";
    return model::to_string(
        std::ranges::max_element(rejection.verdicts, {}, &Verdict::reason)->reason);
  }

  Board& board_;
  const std::size_t node_;
  const model::Usage need_;
  int tried_ = 0;
};

bool is_to_be_relieved(const Board& board, const SnapshotNode& node) {
  const auto& only = board.options().relieve;
  return node.overloaded.any() && node.usage && node.reachability == Reachability::Connected &&
         (!only || only->contains(node.id));
}

// The excess of the resource that a node has most too much of, as a part of the whole.
struct Excess {
  std::int64_t part = 0;
  std::int64_t whole = 1;

  friend bool operator<(const Excess& a, const Excess& b) {
    return (__extension__ static_cast<__int128>(a.part) * b.whole) <
           (__extension__ static_cast<__int128>(b.part) * a.whole);
  }
};

Excess worst_excess(const Board& board, std::size_t node) {
  const model::Usage excess = excess_of(board, node);
  const model::Usage& capacity = board.nodes()[node].info->capacity;
  const Excess cpu{excess.cpu.count(), std::max<std::int64_t>(capacity.cpu.count(), 1)};
  const Excess ram{excess.ram.count(), std::max<std::int64_t>(capacity.ram.count(), 1)};
  return std::max(cpu, ram);
}

// The one that is worst off first, so that it has the first choice of the room elsewhere.
std::vector<std::size_t> nodes_to_relieve(const Board& board) {
  std::vector<std::pair<Excess, std::size_t>> found;
  for (std::size_t node = 0; node < board.nodes().size(); ++node) {
    if (!is_to_be_relieved(board, board.nodes()[node])) continue;
    found.emplace_back(worst_excess(board, node), node);
  }
  std::ranges::sort(found, [&](const auto& a, const auto& b) {
    if (b.first < a.first) return true;
    if (a.first < b.first) return false;
    return board.nodes()[a.second].id < board.nodes()[b.second].id;
  });
  std::vector<std::size_t> nodes;
  for (const auto& [excess, node] : found) nodes.push_back(node);
  return nodes;
}

}  // namespace

// An overloaded node sheds as few as possible, each to a place where it overloads nobody, or nobody
// if that does not relieve it. Everything else stays.
void relieve_round(Board& board) {
  board.begin_relief();
  for (const std::size_t node : nodes_to_relieve(board)) {
    if (!board.is_wanted()) return;
    board.report(Relieving(board, node).carry_out());
  }
}

}  // namespace berth::placement
