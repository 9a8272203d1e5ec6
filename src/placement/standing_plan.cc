#include "placement/standing_plan.h"

#include <algorithm>
#include <set>

#include "placement/asked.h"
#include "placement/board.h"
#include "placement/rounds/rounds.h"
#include "placement/staying.h"

namespace berth::placement {
namespace {

const Options& to_carry_out() {
  static const Options kOptions{.verdicts = Verdicts::HintOnly, .answers = Answers::Kept};
  return kOptions;
}

bool could_make_room(const Board& board, std::size_t position) {
  return board.seat(position).choice && !is_pinned(board.requests()[position]);
}

// In scheduling order the lowest comes last.
std::optional<std::int64_t> lowest_priority(const Board& board) {
  for (std::size_t i = board.requests().size(); i-- > 0;) {
    if (could_make_room(board, i)) return board.requests()[i].priority;
  }
  return std::nullopt;
}

bool is_bound(const Ask& request) {
  return request.own_runtime || request.home != nullptr || request.avoided != nullptr;
}

// Those that somebody may have to leave.
std::map<model::NodeId, const SnapshotNode*> left_nodes(const Snapshot& snapshot) {
  std::map<model::NodeId, const SnapshotNode*> nodes;
  for (const SnapshotNode& node : snapshot.nodes) {
    if (node.drain != Drain::No || !node.evicting.empty()) nodes.emplace(node.id, &node);
  }
  return nodes;
}

// What somebody who should go takes counts as free for others: that is no room to stand on.
bool may_stand(const Snapshot& snapshot, const Board& board) {
  if (!snapshot.avoided.empty()) return false;
  const auto left = left_nodes(snapshot);
  for (std::size_t i = 0; i < board.requests().size(); ++i) {
    if (board.seat(i).left_alone) return false;
    const Ask& request = board.requests()[i];
    if (left.empty() || request.present == nullptr) continue;
    const auto node = left.find(request.present->place.node);
    if (node != left.end() && drain_of(request, node->second) != Drain::No) return false;
  }
  return true;
}

// What nobody on the node could be asked for more than.
bool could_ever_fit(const model::Item& item, const SnapshotNode& node) {
  const Amounts asked = asked_of(item, node.info->capacity, node.settings);
  const model::Usage most = node.info->capacity - node.system_usage;
  return asked.cpu <= std::max(most.cpu, Dmips{}) && asked.ram <= std::max(most.ram, Bytes{});
}

}  // namespace

StandingPlan::StandingPlan(Board& board) : lowest_(lowest_priority(board)) {
  for (std::size_t i = 0; i < board.requests().size(); ++i) {
    if (!board.seat(i).choice) remember_waiting(board.requests()[i]);
  }
  cluster_ = board.take_cluster();
}

void StandingPlan::remember_waiting(const Ask& ask) {
  if (!waiting_.empty() && *ask.item == waiting_.back().item) {
    Ask last = waiting_.back().ask;
    last.item = ask.item;
    if (ask_alike(last, ask)) return;
  }
  Waiting& waiting = waiting_.emplace_back();
  waiting.labels.assign(ask.labels.begin(), ask.labels.end());
  waiting.nodes.assign(ask.nodes.begin(), ask.nodes.end());
  waiting.item = *ask.item;
  waiting.is_bound = is_bound(ask);
  waiting.ask = {.key = ask.key,
                 .item = &waiting.item,
                 .priority = ask.priority,
                 .labels = waiting.labels,
                 .nodes = waiting.nodes,
                 .displaces = ask.displaces};
  by_kind_.clear();
}

// Room only shrinks by what is added, so whoever waited goes on waiting, and whoever is refused has
// as little to gain from lower priorities as there are any.
std::optional<Decisions> StandingPlan::add(std::vector<Ask> requests) {
  Board board(std::move(cluster_), std::move(requests), to_carry_out());
  for (const std::size_t refused : place_round(board, all_requests(board))) {
    const Ask& request = board.requests()[refused];
    if (request.displaces && lowest_ && *lowest_ < request.priority) return std::nullopt;
    remember_waiting(request);
  }
  refuse_round(board);
  Plan plan = board.take_decisions();
  if (const auto lowest = lowest_priority(board)) {
    lowest_ = std::min(lowest_.value_or(*lowest), *lowest);
  }
  cluster_ = board.take_cluster();
  return Decisions{std::move(plan), board.take_requests()};
}

const std::vector<const StandingPlan::Waiting*>& StandingPlan::whom_could_help(std::size_t node) {
  const auto [entry, is_new] = by_kind_.try_emplace(cluster_.kind_of(node));
  if (!is_new) return entry->second;
  for (const Waiting& waiting : waiting_) {
    if (waiting.is_bound || cluster_.fits_kind(waiting.ask, node)) {
      entry->second.push_back(&waiting);
    }
  }
  std::ranges::stable_sort(entry->second, {}, [](const Waiting* w) { return w->ask.priority; });
  return entry->second;
}

// The higher the priority, the more make room.
bool StandingPlan::could_help(std::size_t node, const LowerOn& lower_on) {
  if (waiting_.empty()) return false;
  std::vector<Holding> released;
  std::optional<std::int64_t> priority;
  bool could = false;
  for (const Waiting* waiting : whom_could_help(node)) {
    if (!waiting->is_bound && !could_ever_fit(*waiting->ask.item, cluster_.nodes()[node])) continue;
    const bool displaces = waiting->ask.displaces && lowest_ && *lowest_ < waiting->ask.priority;
    could = waiting->is_bound || (displaces && cluster_.nodes()[node].info->partitions.unit_wide);
    if (could) break;
    if (displaces && priority != waiting->ask.priority) {
      for (const Holding& holding : released) cluster_.reserve(holding);
      released = lower_on(node, *(priority = waiting->ask.priority));
      for (const Holding& holding : released) cluster_.release(holding);
    }
    could = cluster_.choose_on(waiting->ask, node).has_value();
    if (could) break;
  }
  for (const Holding& holding : released) cluster_.reserve(holding);
  return could;
}

// What was stored on a partition of all nodes is room on all of them.
bool StandingPlan::let_go(const std::vector<Holding>& holdings, const LowerOn& lower_on) {
  std::set<std::size_t> nodes;
  bool everywhere = false;
  for (const Holding& holding : holdings) {
    cluster_.release(holding);
    nodes.insert(holding.node);
    const bool stores = holding.amounts.storage > Bytes{} || holding.amounts.state > Bytes{};
    everywhere |= stores && cluster_.nodes()[holding.node].info->partitions.unit_wide;
  }
  if (everywhere && !waiting_.empty()) return true;
  return std::ranges::any_of(nodes, [&](std::size_t node) { return could_help(node, lower_on); });
}

bool StandingPlan::set_system_usage(std::size_t node, const model::Usage& usage,
                                    const LowerOn& lower_on) {
  const model::Usage before = cluster_.nodes()[node].system_usage;
  cluster_.set_system_usage(node, usage);
  const bool gives_room = usage.cpu < before.cpu || usage.ram < before.ram;
  return gives_room && could_help(node, lower_on);
}

WholePlan plan_everything(const Snapshot& snapshot) {
  Board board(snapshot, to_carry_out());
  carry_out_rounds(board);
  WholePlan whole{.decisions = {board.take_decisions(), {}}, .standing = {}};
  if (may_stand(snapshot, board)) whole.standing.emplace(board);
  whole.decisions.requests = board.take_requests();
  return whole;
}

}  // namespace berth::placement
