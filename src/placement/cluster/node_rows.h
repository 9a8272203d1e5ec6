#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace berth::placement {

// The room of one node, as placement looks at it.
struct NodeRoom {
  // What is left of the node, never below 0: what the choice among nodes looks at.
  std::int64_t cpu = 0;
  std::int64_t ram = 0;
  // No runtime of it can take more. Below 0: none can take anything, not even what asks for
  // nothing.
  std::int64_t cpu_max = 0;
  std::int64_t ram_max = 0;

  friend bool operator==(const NodeRoom&, const NodeRoom&) = default;
};

// What an instance needs of a node, at least.
struct Need {
  std::int64_t cpu = 0;
  std::int64_t ram = 0;
};

// A set of rows, 64 to a word.
using RowSet = std::vector<std::uint64_t>;

inline void set_row(RowSet& rows, std::size_t row, bool is_in) {
  const std::uint64_t bit = std::uint64_t{1} << (row % 64);
  is_in ? rows[row / 64] |= bit : rows[row / 64] &= ~bit;
}
inline bool has_row(const RowSet& rows, std::size_t row) {
  return (rows[row / 64] >> (row % 64) & 1) != 0;
}

// The nodes' room in the order in which equals are chosen, as columns that are searched 64 rows at
// a time: a search looks at every block of rows that could have something better than the best so
// far, and never at a row twice. Columns have 32 bits: amounts are rounded down to a unit, which
// never hides a row; what is rounded is looked at exactly before it counts.
class NodeRows {
 public:
  // For so many rows, without any room yet.
  explicit NodeRows(std::size_t rows = 0, const NodeRoom& largest = {});

  std::size_t size() const { return rooms_.size(); }
  const NodeRoom& room(std::size_t row) const { return rooms_[row]; }
  void set(std::size_t row, const NodeRoom& room);

  // The best row of [begin, end) that is in the set, has enough room, and is accepted: most cpu
  // left, then most ram, then the smallest row. Only rows that are better than all that were
  // accepted before are asked about.
  template <class Accepts>
  std::optional<std::size_t> find_best(const RowSet& among, std::size_t begin, std::size_t end,
                                       const Need& need, Accepts accepts) const {
    std::optional<std::size_t> best;
    for (std::size_t block = begin / 64; block * 64 < end; ++block) {
      std::uint64_t rows = among[block] & within(block, begin, end);
      if (rows == 0 || (best && !may_beat(block, *best))) continue;
      rows &= candidates(block, need, best ? columns_of(*best).cpu : 0);
      for (; rows != 0; rows &= rows - 1) {
        const std::size_t row = block * 64 + static_cast<std::size_t>(__builtin_ctzll(rows));
        if (best && !is_better(row, *best)) continue;
        if (has_room(row, need) && accepts(row)) best = row;
      }
    }
    return best;
  }

  bool has_room(std::size_t row, const Need& need) const {
    return rooms_[row].cpu_max >= need.cpu && rooms_[row].ram_max >= need.ram;
  }
  bool is_better(std::size_t row, std::size_t other) const {
    const NodeRoom& a = rooms_[row];
    const NodeRoom& b = rooms_[other];
    if (a.cpu != b.cpu) return a.cpu > b.cpu;
    return a.ram != b.ram ? a.ram > b.ram : row < other;
  }

  std::size_t bytes() const;

 private:
  struct Columns {
    std::int32_t cpu;
    std::int32_t ram;
  };

  static std::uint64_t within(std::size_t block, std::size_t begin, std::size_t end) {
    std::uint64_t rows = ~std::uint64_t{0};
    if (block * 64 < begin) rows &= ~std::uint64_t{0} << (begin - block * 64);
    if (block * 64 + 64 > end) rows &= ~std::uint64_t{0} >> (block * 64 + 64 - end);
    return rows;
  }
  static std::int64_t key_of(const Columns& columns) {
    return (std::int64_t{columns.cpu} << 32) | columns.ram;
  }
  Columns columns_of(std::size_t row) const { return {cpu_[row], ram_[row]}; }
  // Whether any row of the block may be better than that one.
  bool may_beat(std::size_t block, std::size_t best) const {
    const std::int64_t key = key_of(columns_of(best));
    return best_of_block_[block] > key || (rounded_ > 0 && best_of_block_[block] == key);
  }
  std::uint64_t candidates(std::size_t block, const Need& need, std::int32_t cpu) const;
  std::int32_t in_column(std::int64_t amount, int shift) const;
  bool is_rounded(const NodeRoom& room) const;

  std::vector<NodeRoom> rooms_;
  // Padded to whole blocks; what pads has no room.
  std::vector<std::int32_t> cpu_;
  std::vector<std::int32_t> ram_;
  std::vector<std::int32_t> cpu_max_;
  std::vector<std::int32_t> ram_max_;
  std::vector<std::int64_t> best_of_block_;
  int cpu_shift_ = 0;
  int ram_shift_ = 0;
  std::size_t rounded_ = 0;  // rows whose columns do not tell all
};

}  // namespace berth::placement
