#include <algorithm>
#include <limits>

#include "placement/cluster/cluster.h"

namespace berth::placement {

// Instances that ask alike, placed one after the other. Room only shrinks on the way, so that who
// has none left never comes back, and what one image finds no place for no later one does.
class AlikeRun {
 public:
  AlikeRun(Cluster& cluster, const Ask& request, std::size_t count)
      : cluster_(cluster), request_(request), count_(count), shape_(cluster.shape_of(request)) {}

  std::vector<Spot> carry_out() && {
    for (image_ = 0; image_ < shape_.images.size(); ++image_) {
      rows_ = cluster_.rows_with_shared(shape_, image_);
      for (const auto& stretch : cluster_.stretches_) {
        if (spots_.size() == count_) return std::move(spots_);
        gather(stretch.begin, stretch.end);
        place();
        settle();
      }
    }
    return std::move(spots_);
  }

 private:
  struct Entry {
    std::int64_t cpu;
    std::int64_t ram;
    std::uint32_t row;
    std::uint32_t units;       // of what is shared, that are left
    std::uint32_t placed = 0;  // and not written down yet
  };
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

  // Whether `a` is chosen before `b`.
  static bool is_better(const Entry& a, const Entry& b) {
    if (a.cpu != b.cpu) return a.cpu > b.cpu;
    return a.ram != b.ram ? a.ram > b.ram : a.row < b.row;
  }
  static bool is_worse(const Entry& a, const Entry& b) { return is_better(b, a); }

  std::size_t left() const { return count_ - spots_.size(); }
  std::size_t node_of(const Entry& entry) const { return cluster_.node_at_[entry.row]; }
  // Whether what stands in its entry decides alone whether one more has room.
  bool is_plain(std::size_t node) const { return cluster_.is_plain(shape_, node); }

  std::uint32_t units_on(std::size_t node) const {
    if (!shape_.takes_shared) return kUnlimited;
    std::int64_t units = kUnlimited;
    for (const std::string& resource : shape_.item->shared_resources) {
      const auto left = cluster_.ledger_.shared_left(node, resource);
      if (left) units = std::min(units, std::max<std::int64_t>(*left, 0));
    }
    return static_cast<std::uint32_t>(units);
  }
  void take(std::size_t node, std::size_t runtime) {
    spots_.push_back({static_cast<std::uint32_t>(node), static_cast<std::uint16_t>(runtime),
                      static_cast<std::uint16_t>(image_)});
  }

  void gather(std::size_t begin, std::size_t end) {
    entries_.clear();
    cpu_max_ = 0;
    are_plain_ = shape_.asked.has_value();
    for (std::size_t block = begin / 64; block * 64 < end; ++block) {
      for (std::uint64_t rows = rows_[block]; rows != 0; rows &= rows - 1) {
        const std::size_t row = block * 64 + static_cast<std::size_t>(__builtin_ctzll(rows));
        if (row < begin || row >= end || !cluster_.rows_.has_room(row, shape_.least)) continue;
        const NodeRoom& room = cluster_.rows_.room(row);
        const std::size_t node = cluster_.node_at_[row];
        const std::uint32_t units = units_on(node);
        entries_.push_back({room.cpu, room.ram, static_cast<std::uint32_t>(row), units});
        are_plain_ = are_plain_ && units == kUnlimited && is_plain(node);
        cpu_max_ = std::max(cpu_max_, room.cpu);
      }
    }
  }

  // Sorting once pays where each node gets some; else the best few are enough.
  void place() {
    constexpr std::size_t kShare = 4;
    const bool is_many = left() >= entries_.size() / kShare;
    if (are_plain_ && is_many && has_levels()) {
      place_in_levels();
    } else {
      place_from_heap();
    }
  }

  // Absurd amounts are left to the heap: they would not fit into a number.
  bool has_levels() const {
    const auto& [cpu, ram] = shape_.least;
    return cpu > 0 && ram >= 0 &&
           (ram == 0 || cpu_max_ / cpu < std::numeric_limits<std::int64_t>::max() / 2 / ram);
  }

  // All take the same away, so that a node has cpu for a number of instances, its level, and
  // something over. The higher level comes first, and all that have come down to a level keep
  // their order there: by what is over, then by the ram that they would have at level 0. So each
  // level is one walk over those who have reached it.
  void place_in_levels() {
    const std::int64_t cpu = shape_.least.cpu;
    const std::int64_t ram = shape_.least.ram;
    struct Standing {
      std::int64_t level, over, ram_at_0;
      std::uint32_t entry;
    };
    std::vector<Standing> waiting;
    waiting.reserve(entries_.size());
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      const std::int64_t level = entry.cpu / cpu;
      waiting.push_back({level, entry.cpu % cpu, entry.ram - level * ram, i});
    }
    const auto in_level = [](const Standing& a, const Standing& b) {
      if (a.over != b.over) return a.over > b.over;
      return a.ram_at_0 != b.ram_at_0 ? a.ram_at_0 > b.ram_at_0 : a.entry < b.entry;
    };
    std::ranges::sort(waiting, [&](const Standing& a, const Standing& b) {
      return a.level != b.level ? a.level > b.level : in_level(a, b);
    });
    std::vector<Standing> active;
    auto next = waiting.begin();
    for (std::int64_t level = 0; left() > 0; --level) {
      if (active.empty()) {
        if (next == waiting.end()) return;
        level = next->level;
      }
      const auto joined = static_cast<std::ptrdiff_t>(active.size());
      for (; next != waiting.end() && next->level == level; ++next) active.push_back(*next);
      std::inplace_merge(active.begin(), active.begin() + joined, active.end(), in_level);
      if (level == 0) return;
      std::erase_if(active, [&](const Standing& one) {
        if (left() == 0) return false;
        if (one.ram_at_0 + level * ram < ram) return true;
        Entry& entry = entries_[one.entry];
        const std::size_t node = node_of(entry);
        take(node, cluster_.runtime_on(shape_, image_, node));
        ++entry.placed;
        return false;
      });
    }
  }

  void place_from_heap() {
    std::ranges::make_heap(entries_, is_worse);
    while (left() > 0 && !entries_.empty()) {
      Entry& best = entries_.front();
      is_plain(node_of(best)) ? place_plainly(best) : place_by_rules(best);
    }
  }

  void place_plainly(Entry& best) {
    const std::size_t node = node_of(best);
    const Amounts asked = cluster_.asked_on(shape_, node);
    const bool is_full =
        best.cpu < asked.cpu.count() || best.ram < asked.ram.count() || best.units == 0;
    if (is_full) return leave();
    take(node, cluster_.runtime_on(shape_, image_, node));
    ++best.placed;
    if (best.units != kUnlimited) --best.units;
    best.cpu -= asked.cpu.count();
    best.ram -= asked.ram.count();
    sift_down();
  }

  // Caps, counts and partitions: what is written down is asked each time.
  void place_by_rules(Entry& best) {
    const std::size_t node = node_of(best);
    const auto slot = cluster_.pipeline().choose_on(request_, image_, node);
    if (!slot) return leave();
    take(node, slot->runtime);
    cluster_.reserve(cluster_.holding_for(request_, *slot));
    const NodeRoom& room = cluster_.rows_.room(best.row);
    best.cpu = room.cpu;
    best.ram = room.ram;
    sift_down();
  }

  // The best has less room than before.
  void sift_down() {
    const Entry moved = entries_.front();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < entries_.size(); child = 2 * hole + 1) {
      if (child + 1 < entries_.size() && is_worse(entries_[child], entries_[child + 1])) ++child;
      if (!is_worse(moved, entries_[child])) break;
      entries_[hole] = entries_[child];
      hole = child;
    }
    entries_[hole] = moved;
  }

  // The best can take no more.
  void leave() {
    write_down(entries_.front());
    entries_.front() = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sift_down();
  }

  void write_down(const Entry& entry) {
    if (entry.placed == 0) return;
    const std::size_t node = node_of(entry);
    const Holding holding =
        cluster_.holding_for(request_, {node, cluster_.runtime_on(shape_, image_, node)});
    cluster_.ledger_.reserve(holding, entry.placed);
    cluster_.changed(holding);
  }

  void settle() {
    for (const Entry& entry : entries_) write_down(entry);
  }

  Cluster& cluster_;
  const Ask& request_;
  const std::size_t count_;
  const Shape& shape_;
  std::uint32_t image_ = 0;
  RowSet rows_;
  std::vector<Entry> entries_;
  bool are_plain_ = false;
  std::int64_t cpu_max_ = 0;
  std::vector<Spot> spots_;
};

// A few are searched for one by one: gathering all nodes that may take them would cost more.
std::vector<Spot> Cluster::place_alike(const Ask& request, std::size_t count) {
  constexpr std::size_t kNodesPerSearch = 64;
  if (count > nodes_.size() / kNodesPerSearch) {
    return AlikeRun(*this, request, count).carry_out();
  }
  std::vector<Spot> spots;
  while (spots.size() < count) {
    const auto choice = choose(request);
    if (!choice) break;
    reserve(holding_for(request, choice->slot));
    spots.push_back(spot_of(*choice));
  }
  return spots;
}

}  // namespace berth::placement
