#include <algorithm>

#include "placement/rounds/rounds.h"
#include "placement/staying.h"

namespace berth::placement {
namespace {

Rejection reject_at_its_place(const Board& board, const Ask& request,
                              std::optional<std::size_t> node, std::optional<std::size_t> runtime) {
  if (!node) return {.reason = Reason::NoConnectedNodes, .image = 0, .verdicts = {}};
  return board.pipeline().reject_kept(request, *node, runtime);
}

std::string kept_on(const model::Place& place, const char* why) {
  return "kept on " + model::to_string(place) + ": " + why;
}

bool keep(Board& board, std::size_t position, const char* why) {
  const Ask& request = board.requests()[position];
  const model::Place& place = request.present->place;
  const auto node = board.find_node(place.node);
  const auto runtime = node ? board.find_runtime(*node, place.runtime) : std::nullopt;
  if (runtime) {
    if (const auto choice = board.pipeline().keep(request, {*node, *runtime})) {
      board.keep(position, *choice, kept_on(place, why));
      return true;
    }
  }
  if (!is_left_alone(request)) return false;
  board.leave_alone(position, reject_at_its_place(board, request, node, runtime));
  return true;
}

Drain drain_of(const Board& board, const Ask& request) {
  const auto node = board.find_node(request.present->place.node);
  return drain_of(request, node ? &board.nodes()[*node] : nullptr);
}

const char* why_it_stays(const Ask& request) {
  if (request.present->returning) return "it did not come up elsewhere";
  return has_finished(request) ? "it has done its work there" : "it runs there well";
}

const char* why_it_should_go(const Board& board, const Ask& request) {
  const auto node = board.find_node(request.present->place.node);
  return board.nodes()[*node].drain != Drain::No
             ? "the node is being drained, but nothing else has room for it"
             : "its runtime has not been ready for long, but nothing else has room for it";
}

bool would_be_left_alone(const Board& board, const Ask& request) {
  return is_left_alone(request) && drain_of(board, request) == Drain::No;
}

// The first round of the next plan, when this one has been carried out: everybody in turn is judged
// where it sits by now, what was left alone where it runs.
class NextKeepRound {
 public:
  explicit NextKeepRound(Board& board)
      : board_(board), room_(board.nodes(), Ledger::Capacity::Full) {}

  // Whether it keeps anybody whom this one has left alone. Then those scheduled after it may lose
  // the room that it takes, as if this had been the first round.
  bool carry_out() {
    for (std::size_t i = 0; i < board_.requests().size(); ++i) judge(i);
    if (kept_.empty()) return false;
    for (const std::size_t position : lost_) board_.unseat(position);
    for (const auto& [position, choice] : kept_) {
      const Ask& request = board_.requests()[position];
      board_.unseat(position);
      board_.keep(position, choice, kept_on(request.present->place, why_it_stays(request)));
    }
    for (const std::size_t position : lost_) {
      const Ask& request = board_.requests()[position];
      if (would_be_left_alone(board_, request)) keep(board_, position, why_it_stays(request));
    }
    return true;
  }

 private:
  std::optional<Slot> slot_of(std::size_t position) const {
    const Seat& seat = board_.seat(position);
    if (seat.choice) return seat.choice->slot;
    if (!seat.holding || !seat.holding->runtime) return std::nullopt;
    return Slot{seat.holding->node, *seat.holding->runtime};
  }

  void judge(std::size_t position) {
    const Seat& seat = board_.seat(position);
    const Ask& request = board_.requests()[position];
    const auto slot = slot_of(position);
    const auto choice = slot ? board_.pipeline_on(room_).keep(request, *slot) : std::nullopt;
    if (choice) {
      room_.reserve(board_.holding_for(position, *choice));
      if (seat.left_alone) kept_.emplace_back(position, *choice);
    } else if (seat.choice) {
      lost_.push_back(position);
      if (would_be_left_alone(board_, request)) room_.reserve(*board_.present_holding(position));
    } else if (seat.holding) {
      room_.reserve(*seat.holding);
    }
  }

  Board& board_;
  Ledger room_;
  std::vector<std::pair<std::size_t, Choice>> kept_;
  RequestList lost_;
};

bool is_anything_untold(const Board& board) {
  return std::ranges::any_of(board.requests(), [](const Ask& request) {
    return request.present != nullptr && request.present->untold;
  });
}

// What it holds is its own, past the rules. What its new version asks for is not: of that, whoever
// was placed before it and only waits to begin comes first, and nobody could take it back.
bool is_pinned_update(const Ask& request) {
  return is_left_alone(request) && request.present->version != request.item->version;
}

bool is_any_left_alone(const Board& board) {
  for (std::size_t i = 0; i < board.requests().size(); ++i) {
    if (board.seat(i).left_alone) return true;
  }
  return false;
}

// Why it may not stay by the rules: as things are now.
void judge_left_alone(Board& board) {
  for (std::size_t i = 0; i < board.requests().size(); ++i) {
    if (!board.is_wanted()) return;
    if (!board.seat(i).left_alone || !board.seat(i).holding) continue;
    board.unseat(i);
    keep(board, i, why_it_stays(board.requests()[i]));
  }
}

}  // namespace

// Nothing healthy moves without need: what runs stays, if it may. A pinned one that may not stay
// goes nowhere else, and what runs of it is left alone. Where nothing does yet, it is like any
// other.
RequestList keep_round(Board& board) {
  const auto& requests = board.requests();
  const bool anybody_waits = is_anything_untold(board);
  // What only waits to begin comes after what runs: that keeps its room, past the rules if it is
  // left alone.
  for (const bool untold : {false, true}) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!board.is_wanted()) return {};
      const Ask& request = requests[i];
      if (request.present == nullptr || request.present->untold != untold) continue;
      if (drain_of(board, request) != Drain::No) continue;
      if (anybody_waits && is_pinned_update(request)) {
        board.leave_alone(i, {});
      } else {
        keep(board, i, why_it_stays(request));
      }
    }
  }
  if (anybody_waits) keep_again(board);
  return without_place(board);
}

bool keep_again(Board& board) {
  return board.is_wanted() && is_any_left_alone(board) && NextKeepRound(board).carry_out();
}

// What should leave its node or runtime, and has found no other place, stays for the time being.
void stay_round(Board& board) {
  for (std::size_t i = 0; i < board.requests().size(); ++i) {
    if (!board.is_wanted()) return;
    const Ask& request = board.requests()[i];
    if (board.seat(i).choice || request.present == nullptr) continue;
    if (drain_of(board, request) != Drain::Gently) continue;
    keep(board, i, why_it_should_go(board, request));
  }
  judge_left_alone(board);
}

}  // namespace berth::placement
