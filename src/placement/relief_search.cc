#include "placement/relief_search.h"

#include <algorithm>
#include <numeric>

namespace berth::placement {
namespace {

// Enough for every set of twenty, and for any number where the bounds tell enough.
constexpr std::uint64_t kStepsMax = 500'000;
// Filling the table of bounds is work too; this also limits what it takes of memory.
constexpr std::uint64_t kCellsPerStep = 4;

// In parts of a billion, so that sums over all instances of a node cannot overflow.
template <class Q>
std::int64_t share_of(Q part, Q whole) {
  constexpr std::int64_t kWhole = 1'000'000'000;
  if (part <= Q{}) return 0;
  if (part >= whole) return kWhole;
  return static_cast<std::int64_t>((__extension__ static_cast<__int128>(part.count()) * kWhole) /
                                   whole.count());
}

}  // namespace

ReliefSearch::ReliefSearch(std::vector<Mover> movers, const model::Usage& need,
                           const model::Usage& capacity)
    : movers_(std::move(movers)), need_(need), steps_left_(kStepsMax) {
  for (const Mover& mover : movers_) {
    loads_.push_back(share_of(mover.usage.cpu, capacity.cpu) +
                     share_of(mover.usage.ram, capacity.ram));
    any_required_ = any_required_ || mover.is_required;
  }
  over_ = !can_relieve();
  if (!over_) aim_at(fewest_that_may_do());
}

bool ReliefSearch::relieves(const model::Usage& taken) const {
  return taken.cpu >= need_.cpu && taken.ram >= need_.ram;
}

bool ReliefSearch::can_relieve() const {
  model::Usage all;
  for (const Mover& mover : movers_) all = all + mover.usage;
  return relieves(all);
}

// No set is smaller than so many of the greatest of one resource must be.
std::size_t ReliefSearch::fewest_that_may_do() const {
  const auto fewest = [this](auto amount, auto need) {
    std::vector<decltype(need)> amounts;
    for (const Mover& mover : movers_) amounts.push_back(mover.usage.*amount);
    std::ranges::sort(amounts, std::greater<>());
    decltype(need) taken;
    std::size_t count = 0;
    while (taken < need) taken += amounts[count++];
    return count;
  };
  return std::max({fewest(&model::Usage::cpu, need_.cpu), fewest(&model::Usage::ram, need_.ram),
                   std::size_t{1}});
}

// For each position, the most that any so many from there on take off, and their least load: what
// tells early that a beginning cannot be completed, or not to anything better.
void ReliefSearch::aim_at(std::size_t size) {
  size_ = size;
  last_.reset();
  const std::size_t width = size + 1;
  const std::size_t cells = (movers_.size() + 1) * width;
  steps_left_ -= std::min<std::uint64_t>(steps_left_, cells / kCellsPerStep);
  if (steps_left_ == 0) return;
  reach_.assign(cells, Reach{});
  std::vector<Dmips> cpu;
  std::vector<Bytes> ram;
  std::vector<std::int64_t> load;
  const auto keep_first = [size](auto& values, auto value, auto before) {
    values.insert(std::ranges::upper_bound(values, value, before), value);
    if (values.size() > size) values.pop_back();
  };
  for (std::size_t from = movers_.size(); from-- > 0;) {
    keep_first(cpu, movers_[from].usage.cpu, std::greater<>());
    keep_first(ram, movers_[from].usage.ram, std::greater<>());
    keep_first(load, loads_[from], std::less<>());
    Reach sum;
    for (std::size_t count = 1; count <= cpu.size(); ++count) {
      sum.most = sum.most + model::Usage{cpu[count - 1], ram[count - 1]};
      sum.least_load += load[count - 1];
      reach_[from * width + count] = sum;
    }
  }
}

const ReliefSearch::Reach& ReliefSearch::reach(std::size_t from, std::size_t count) const {
  return reach_[from * (size_ + 1) + count];
}

std::optional<ReliefSearch::Set> ReliefSearch::next() {
  while (!over_) {
    best_.reset();
    chosen_.clear();
    if (steps_left_ > 0) descend(0, {}, 0);
    if (steps_left_ == 0) {
      over_ = true;
      return best_ ? best_->set : greedy();
    }
    if (best_) {
      last_ = best_;
      return best_->set;
    }
    if (size_ == movers_.size()) {
      over_ = true;
    } else {
      aim_at(size_ + 1);
    }
  }
  return std::nullopt;
}

// Completes the chosen ones from position `from` on, in all ways that may give something better
// than the best so far.
void ReliefSearch::descend(std::size_t from, const model::Usage& taken, std::int64_t load) {
  if (chosen_.size() == size_) return consider(taken, load);
  const std::size_t missing = size_ - chosen_.size();
  for (std::size_t i = from; i + missing <= movers_.size(); ++i) {
    if (steps_left_ == 0) return;
    --steps_left_;
    const Reach& best_case = reach(i, missing);
    if (!relieves(taken + best_case.most)) return;
    if (best_ && load + best_case.least_load >= best_->load) return;
    chosen_.push_back(i);
    descend(i + 1, taken + movers_[i].usage, load + loads_[i]);
    chosen_.pop_back();
  }
}

// Sets come in the order of their members, so the first of equals stays the best.
void ReliefSearch::consider(const model::Usage& taken, std::int64_t load) {
  if (!relieves(taken) || (best_ && load >= best_->load)) return;
  if (!comes_after_last(load) || !has_a_required() || could_one_stay(taken)) return;
  best_ = Found{chosen_, load};
}

bool ReliefSearch::comes_after_last(std::int64_t load) const {
  if (!last_) return true;
  return load > last_->load || (load == last_->load && chosen_ > last_->set);
}

bool ReliefSearch::has_a_required() const {
  if (!any_required_) return true;
  return std::ranges::any_of(chosen_, [&](std::size_t i) { return movers_[i].is_required; });
}

bool ReliefSearch::could_one_stay(const model::Usage& taken) const {
  return std::ranges::any_of(chosen_,
                             [&](std::size_t i) { return relieves(taken - movers_[i].usage); });
}

// The greatest loads first until it is relieved; then whoever could stay after all stays.
std::optional<ReliefSearch::Set> ReliefSearch::greedy() {
  std::vector<std::size_t> order(movers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return loads_[i]; });
  chosen_.clear();
  model::Usage taken;
  for (const std::size_t i : order) {
    if (relieves(taken)) break;
    chosen_.push_back(i);
    taken = taken + movers_[i].usage;
  }
  std::erase_if(chosen_, [&](std::size_t i) {
    if (!relieves(taken - movers_[i].usage)) return false;
    taken = taken - movers_[i].usage;
    return true;
  });
  std::ranges::sort(chosen_);
  return chosen_;
}

}  // namespace berth::placement
