#include <algorithm>

#include "placement/cluster/cluster.h"

namespace berth::placement {

// Instances that ask alike, placed one after the other: each node that may take one stands in a
// heap with the room that it has left, and the best is on top. Room only shrinks on the way, so
// that who has none left never comes back, and what one image finds no place for no later one does.
class AlikeRun {
 public:
  AlikeRun(Cluster& cluster, const Request& request, std::size_t count)
      : cluster_(cluster), request_(request), count_(count), shape_(cluster.shape_of(request)) {
    choices_.reserve(std::min<std::size_t>(count, 1 << 20));
  }

  std::vector<Choice> carry_out() && {
    for (image_ = 0; image_ < shape_.images.size(); ++image_) {
      rows_ = cluster_.rows_with_shared(shape_, image_);
      for (const auto& stretch : cluster_.stretches_) {
        if (choices_.size() == count_) return std::move(choices_);
        gather(stretch.begin, stretch.end);
        place();
        settle();
      }
    }
    return std::move(choices_);
  }

 private:
  struct Entry {
    std::int64_t cpu;
    std::int64_t ram;
    std::uint32_t row;
    std::uint32_t placed = 0;  // and not written down yet
  };

  // Whether `a` is chosen after `b`.
  static bool is_worse(const Entry& a, const Entry& b) {
    if (a.cpu != b.cpu) return a.cpu < b.cpu;
    return a.ram != b.ram ? a.ram < b.ram : a.row > b.row;
  }

  std::size_t node_of(const Entry& entry) const { return cluster_.node_at_[entry.row]; }
  const Amounts& asked_on(std::size_t node) const {
    return shape_.asked[cluster_.kind_of_[node]];
  }
  // Whether its cpu and ram decide alone whether one more has room.
  bool is_plain(std::size_t node) const {
    return !shape_.takes_shared && cluster_.is_plain(shape_, node);
  }
  static bool has_room(const Entry& entry, const Amounts& asked) {
    return entry.cpu >= asked.cpu.count() && entry.ram >= asked.ram.count();
  }

  void gather(std::size_t begin, std::size_t end) {
    heap_.clear();
    for (std::size_t block = begin / 64; block * 64 < end; ++block) {
      for (std::uint64_t rows = rows_[block]; rows != 0; rows &= rows - 1) {
        const std::size_t row = block * 64 + static_cast<std::size_t>(__builtin_ctzll(rows));
        if (row < begin || row >= end || !cluster_.rows_.has_room(row, shape_.least)) continue;
        const NodeRoom& room = cluster_.rows_.room(row);
        heap_.push_back({room.cpu, room.ram, static_cast<std::uint32_t>(row)});
      }
    }
    std::ranges::make_heap(heap_, is_worse);
  }

  void place() {
    while (choices_.size() < count_ && !heap_.empty()) {
      Entry& best = heap_.front();
      is_plain(node_of(best)) ? place_plainly(best) : place_by_rules(best);
    }
  }

  void place_plainly(Entry& best) {
    const std::size_t node = node_of(best);
    const Amounts& asked = asked_on(node);
    if (!has_room(best, asked)) return leave();
    const KindAnswer& answer = shape_.images[image_].of_kind[cluster_.kind_of_[node]];
    choices_.push_back({{node, answer.runtime}, image_, asked});
    ++best.placed;
    best.cpu -= asked.cpu.count();
    best.ram -= asked.ram.count();
    sift_down();
  }

  // Caps, counts, partitions and what is shared: what is written down is asked each time.
  void place_by_rules(Entry& best) {
    const std::size_t node = node_of(best);
    const auto slot = cluster_.pipeline().choose_on(request_, image_, node);
    if (!slot) return leave();
    choices_.push_back({*slot, image_, asked_on(node)});
    cluster_.reserve(cluster_.holding_for(request_, *slot));
    const NodeRoom& room = cluster_.rows_.room(best.row);
    best.cpu = room.cpu;
    best.ram = room.ram;
    sift_down();
  }

  // The best has less room than before.
  void sift_down() {
    const Entry moved = heap_.front();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
      if (child + 1 < heap_.size() && is_worse(heap_[child], heap_[child + 1])) ++child;
      if (!is_worse(moved, heap_[child])) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = moved;
  }

  // The best can take no more.
  void leave() {
    write_down(heap_.front());
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down();
  }

  void write_down(const Entry& entry) {
    if (entry.placed == 0) return;
    const std::size_t node = node_of(entry);
    const Slot slot{node, shape_.images[image_].of_kind[cluster_.kind_of_[node]].runtime};
    const Holding holding = cluster_.holding_for(request_, slot);
    cluster_.ledger_.reserve(holding, entry.placed);
    cluster_.changed(holding);
  }

  void settle() {
    for (const Entry& entry : heap_) write_down(entry);
    heap_.clear();
  }

  Cluster& cluster_;
  const Request& request_;
  const std::size_t count_;
  const Shape& shape_;
  std::uint32_t image_ = 0;
  RowSet rows_;
  std::vector<Entry> heap_;
  std::vector<Choice> choices_;
};

std::vector<Choice> Cluster::place_alike(const Request& request, std::size_t count) {
  return AlikeRun(*this, request, count).carry_out();
}

}  // namespace berth::placement
