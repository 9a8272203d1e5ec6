#include "placement/board.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "placement/asked.h"
#include "placement/hint.h"
#include "placement/verdict.h"

namespace berth::placement {
namespace {

Action action_of(const Ask& request, const model::Place& place) {
  if (request.present == nullptr) return Action::Start;
  if (request.present->version != request.item->version) return Action::Update;
  if (request.present->place != place) return Action::Move;
  return request.outdated ? Action::Restart : Action::Keep;
}

const Snapshot& nothing_present() {
  static const Snapshot kNothing;
  return kNothing;
}

model::Usage clamped(const model::Usage& usage) {
  return {std::max(usage.cpu, Dmips{}), std::max(usage.ram, Bytes{})};
}

}  // namespace

Board::Board(const Snapshot& snapshot, const Options& options)
    : snapshot_(snapshot),
      options_(options),
      requests_(expand(snapshot)),
      measuring_(options.mode == Mode::RebalanceFull ? Measuring::WhereOverloaded
                                                     : Measuring::Requested),
      cluster_(snapshot.nodes, options.mode == Mode::RebalanceFull
                                   ? Ledger::Capacity::RelievedWhereOverloaded
                                   : Ledger::Capacity::Full),
      seats_(requests_.size()),
      verdicts_left_(options.verdicts_max) {}

Board::Board(Cluster cluster, std::vector<Ask> requests, const Options& options)
    : snapshot_(nothing_present()),
      options_(options),
      requests_(std::move(requests)),
      measuring_(Measuring::Requested),
      cluster_(std::move(cluster)),
      seats_(requests_.size()),
      verdicts_left_(options.verdicts_max) {}

std::optional<std::size_t> Board::find_node(const model::NodeId& id) const {
  return cluster_.find(id);
}

std::optional<std::size_t> Board::find_runtime(std::size_t node, const model::RuntimeId& id) const {
  return cluster_.find_runtime(node, id);
}

Holding Board::holding_of(const Ask& request, const model::Item& item, std::size_t node,
                          std::optional<std::size_t> runtime) const {
  Holding holding{.node = node,
                  .runtime = runtime,
                  .amounts = pipeline().asked(request, item, node),
                  .shared_resources = {}};
  if (item.skip_resource_limits) return holding;
  holding.shared_resources.insert(item.shared_resources.begin(), item.shared_resources.end());
  return holding;
}

Holding Board::holding_for(std::size_t request, const Choice& choice) const {
  const Ask& asked = requests_[request];
  return holding_of(asked, *asked.item, choice.slot.node, choice.slot.runtime);
}

std::optional<Holding> Board::present_holding(std::size_t request) const {
  const Ask& asked = requests_[request];
  const auto node = find_node(asked.present->place.node);
  if (!node) return std::nullopt;
  const model::Item& running = asked.present_item ? *asked.present_item : *asked.item;
  return holding_of(asked, running, *node, find_runtime(*node, asked.present->place.runtime));
}

Recorder* Board::recorder_for(std::size_t request) {
  if (options_.answers == Answers::NotKept) return nullptr;
  const Present* present = requests_[request].present;
  recorder_.listen_to(present == nullptr ? std::nullopt : find_node(present->place.node));
  return &recorder_;
}

std::optional<std::pair<Choice, model::NodeAnswers>> Board::choose(std::size_t request) {
  const Ask& asked = requests_[request];
  const Pipeline now = pipeline();
  Recorder* recorder = recorder_for(request);
  // A few nodes are asked as fast one by one, and all that they say is heard.
  constexpr std::size_t kFew = 2 * kAnswersMax;
  const bool asks_all = !is_indexed() || (recorder != nullptr && nodes().size() <= kFew);
  const auto choice = asks_all ? now.choose(asked, recorder) : cluster_.choose(asked);
  if (!choice) return std::nullopt;
  if (recorder == nullptr) return std::pair(*choice, model::NodeAnswers{});
  if (!asks_all && !hear_best(*recorder, request, *choice)) {
    recorder->begin();
    now.fits(asked, choice->image, recorder);
  }
  return std::pair(*choice, recorder->answers(now, asked, choice->slot));
}

// Tells the recorder what it would keep of all that the nodes say, unless it would keep more than
// who fits best.
bool Board::hear_best(Recorder& recorder, std::size_t request, const Choice& choice) {
  const Ask& asked = requests_[request];
  if (asked.home != nullptr || asked.own_runtime) return false;
  const std::vector<Slot> best = cluster_.best_of(asked, choice.image, kAnswersMax);
  if (best.size() < kAnswersMax) return false;
  const Pipeline now = pipeline();
  std::vector<Fit> fits;
  for (const Slot& slot : best) fits.push_back(now.fit_at(asked, slot));
  recorder.heard(nodes().size(), std::move(fits));
  const auto left = asked.present ? find_node(asked.present->place.node) : std::nullopt;
  if (left && !now.choose_on(asked, choice.image, *left)) {
    recorder.turned_down(now.reject_on(asked, choice.image, *left));
    recorder.left();
  }
  return true;
}

bool Board::place(std::size_t request, std::string how) {
  if (last_refused_ && refused_in_ == version() && is_indexed() &&
      ask_alike(requests_[request], requests_[*last_refused_])) {
    return false;
  }
  auto found = choose(request);
  if (!found) {
    last_refused_ = request;
    refused_in_ = version();
    return false;
  }
  explain(request, std::move(how));
  sit(request, found->first, std::move(found->second));
  return true;
}

void Board::place_at(std::size_t request, const Choice& choice, std::string how) {
  explain(request, std::move(how));
  Recorder* recorder = recorder_for(request);
  if (recorder == nullptr) return sit(request, choice, {});
  const Pipeline now = pipeline();
  now.fits(requests_[request], choice.image, recorder);
  sit(request, choice, recorder->answers(now, requests_[request], choice.slot));
}

void Board::keep(std::size_t request, const Choice& choice, std::string how) {
  explain(request, std::move(how));
  sit(request, choice, {});
}

void Board::sit(std::size_t request, const Choice& choice, model::NodeAnswers answers) {
  Seat& seat = seats_[request];
  const Ask& asked = requests_[request];
  seat = Seat{.made_room_for = seat.made_room_for};
  seat.choice = choice;
  seat.holding = holding_for(request, choice);
  seat.answers = std::move(answers);
  cluster_.reserve(*seat.holding);
  if (planned_) planned_->come(choice.slot.node, expected_usage(asked, choice.asked));
}

void Board::unseat(std::size_t request) {
  const Seat& seat = seats_[request];
  cluster_.release(*seat.holding);
  if (planned_) {
    planned_->leave(seat.holding->node, expected_usage(requests_[request], seat.holding->amounts));
  }
  seats_[request] = Seat{};
}

void Board::displace(std::size_t request, std::size_t newcomer) {
  unseat(request);
  seats_[request].made_room_for = newcomer;
}

// What runs counts with what was measured of its node until it leaves it for another, or stops.
void Board::count_usage(PlannedUsage& planned, std::size_t position) const {
  const Ask& request = requests_[position];
  const Seat& seat = seats_[position];
  const auto from = request.present ? find_node(request.present->place.node) : std::nullopt;
  const auto to = seat.choice ? std::optional(seat.choice->slot.node) : std::nullopt;
  if (from == to || seat.left_alone) return;
  if (from) planned.leave(*from, request.present->measured);
  if (to) planned.come(*to, expected_usage(request, seat.choice->asked));
}

PlannedUsage Board::usage_by_now() const {
  PlannedUsage planned(nodes());
  std::set<model::InstanceKey> asked;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    asked.insert(requests_[i].key);
    count_usage(planned, i);
  }
  for (const auto& [key, present] : snapshot_.present) {
    const auto node = find_node(present.place.node);
    if (node && !asked.contains(key)) planned.leave(*node, present.measured);
  }
  return planned;
}

void Board::begin_relief() {
  measuring_ = Measuring::Everywhere;
  planned_ = usage_by_now();
}

// Who asks for the same in the same room is told the same.
void Board::refuse(std::size_t request) {
  Seat& seat = seats_[request];
  const Pipeline now = pipeline();
  seat = Seat{.made_room_for = seat.made_room_for};
  const bool is_told = last_told_ && told_in_ == version() && is_indexed() &&
                       ask_alike(requests_[request], requests_[*last_told_]);
  seat.rejection = is_told ? seats_[*last_told_].rejection
                           : std::make_shared<const Rejection>(now.reject(requests_[request]));
  if (!tells_verdicts(request)) {
    seat.rejection = std::make_shared<const Rejection>(
        Rejection{seat.rejection->reason, seat.rejection->image, {}});
    return;
  }
  seat.hint = is_told ? seats_[*last_told_].hint : hint_to_place(now, requests_[request]);
  explain(request, fmt::format("refused: {}", model::to_string(seat.rejection->reason)));
  last_told_ = request;
  told_in_ = version();
}

bool Board::tells_verdicts(std::size_t request) {
  if (requests_[request].key == options_.explain) return true;
  const std::size_t count = seats_[request].rejection->verdicts.size();
  if (options_.verdicts == Verdicts::ReasonOnly || count > verdicts_left_) return false;
  verdicts_left_ -= count;
  return true;
}

void Board::leave_alone(std::size_t request, Rejection rejection) {
  const Ask& asked = requests_[request];
  const auto node = find_node(asked.present->place.node);
  Seat& seat = seats_[request];
  seat.left_alone = true;
  if (node) {
    const auto runtime = find_runtime(*node, asked.present->place.runtime);
    seat.hint = hint_to_keep(pipeline(), asked, *node, runtime);
    seat.holding = present_holding(request);
    cluster_.reserve(*seat.holding);
  }
  explain(request,
          fmt::format("pinned to {}, and left as it is there: {}",
                      model::to_string(asked.present->place), model::to_string(rejection.reason)));
  seat.rejection = std::make_shared<const Rejection>(std::move(rejection));
}

void Board::explain(std::size_t request, std::string summary) {
  if (requests_[request].key != options_.explain) return;
  explanation_ = Explanation{requests_[request].key, std::move(summary),
                             verdicts_for(pipeline(), requests_[request])};
}

// Storage stays on its node, unless the partition is one for all nodes.
bool Board::leaves_storage(const Ask& request, const Placement& placement) const {
  if (!has_storage(*request.item)) return false;
  std::optional<model::NodeId> source;
  if (placement.from) {
    source = placement.from->node;
  } else if (request.present == nullptr && request.home != nullptr) {
    source = request.home->node;
  }
  if (!source || *source == placement.place.node) return false;
  const auto position = find_node(*source);
  return position && !nodes()[*position].info->partitions.unit_wide;
}

NodeLoad Board::load_of(std::size_t node) const {
  const SnapshotNode& view = nodes()[node];
  NodeLoad load{.node = view.id,
                .capacity = view.info->capacity,
                .before = {},
                .reserved = ledger().reserved_on(node),
                .available = {}};
  load.available = clamped(load.capacity - view.system_usage - load.reserved);
  return load;
}

std::vector<Stop> Board::stops() const {
  std::set<model::InstanceKey> seated;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (seats_[i].choice || seats_[i].left_alone) seated.insert(requests_[i].key);
  }
  std::vector<Stop> stops;
  for (const auto& [key, present] : snapshot_.present) {
    if (!seated.contains(key)) stops.push_back({key, present.version, present.place});
  }
  return stops;
}

std::optional<model::InstanceKey> Board::made_room_for(std::size_t request) const {
  const auto newcomer = seats_[request].made_room_for;
  if (!newcomer || options_.answers == Answers::NotKept) return std::nullopt;
  return requests_[*newcomer].key;
}

Refusal Board::refusal_of(std::size_t position) {
  const Ask& request = requests_[position];
  const Seat& seat = seats_[position];
  CHECK(seat.rejection != nullptr, "whoever is not placed was refused");
  Refusal refusal{.key = request.key,
                  .version = request.item->version,
                  .reason = seat.rejection->reason,
                  .nodes = {},
                  .hint = seat.hint,
                  .left_running = seat.left_alone,
                  .made_room_for = made_room_for(position)};
  if (options_.verdicts != Verdicts::HintOnly) {
    refusal.nodes = describe_all(nodes(), request, seat.rejection->verdicts);
  }
  if (options_.answers == Answers::Kept) add_answers(position, refusal);
  return refusal;
}

// Who was told the same has heard the same.
void Board::add_answers(std::size_t position, Refusal& refusal) {
  const Ask& request = requests_[position];
  const auto& rejection = seats_[position].rejection;
  const bool is_new = request.present == nullptr;
  if (!is_new || last_answered_ != rejection) {
    Recorder* recorder = recorder_for(position);
    for (const Verdict& verdict : rejection->verdicts) {
      recorder->turned_down(verdict);
      recorder->end_of_node({});
    }
    last_answers_ = recorder->answers(pipeline(), request);
    last_answered_ = is_new ? rejection : nullptr;
  }
  refusal.answers = last_answers_;
}

Placement Board::placement_of(std::size_t position) {
  const Ask& request = requests_[position];
  Seat& seat = seats_[position];
  const SnapshotNode& node = nodes()[seat.choice->slot.node];
  const model::Place place{node.id, node.info->runtimes[seat.choice->slot.runtime].id};
  Placement placement{.key = request.key,
                      .version = request.item->version,
                      .place = place,
                      .image = seat.choice->image,
                      .action = action_of(request, place),
                      .from = {}};
  if (request.present && request.present->place != place) placement.from = request.present->place;
  placement.leaves_storage = leaves_storage(request, placement);
  placement.leaves_state =
      request.home != nullptr && request.home->has_state && request.home->node != place.node;
  if (placement.action == Action::Keep) return placement;
  placement.answers = std::move(seat.answers);
  placement.made_room_for = made_room_for(position);
  return placement;
}

Plan Board::take_decisions() {
  Plan plan;
  plan.placements.reserve(requests_.size());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (seats_[i].choice) {
      plan.placements.push_back(placement_of(i));
    } else {
      plan.refused.push_back(refusal_of(i));
    }
  }
  plan.relief = std::move(relief_);
  plan.explanation = std::move(explanation_);
  return plan;
}

Plan Board::take_plan() {
  Plan plan = take_decisions();
  plan.stops = stops();
  for (const auto& [id, node] : cluster_.positions()) plan.nodes.push_back(load_of(node));
  for (const auto& [key, present] : snapshot_.present) {
    const auto node = find_node(present.place.node);
    const auto item = snapshot_.items.find({key.item, present.version});
    if (!node || item == snapshot_.items.end()) continue;
    const SnapshotNode& view = nodes()[*node];
    const Amounts asked = asked_of(*item->second, view.info->capacity, view.settings);
    NodeLoad& load = *std::ranges::lower_bound(plan.nodes, view.id, {}, &NodeLoad::node);
    load.before = load.before + model::Usage{asked.cpu, asked.ram};
  }
  return plan;
}

}  // namespace berth::placement
