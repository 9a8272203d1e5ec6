#include "placement/cluster/node_rows.h"

#include <algorithm>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace berth::placement {
namespace {

constexpr std::int32_t kColumnMax = std::numeric_limits<std::int32_t>::max();

// The columns of one block, and what is looked for in them.
struct Block {
  const std::int32_t* cpu;
  const std::int32_t* cpu_max;
  const std::int32_t* ram_max;
  std::int32_t at_least;
  std::int32_t cpu_need;
  std::int32_t ram_need;
};

std::uint64_t search_plainly(const Block& block) {
  std::uint64_t rows = 0;
  for (unsigned i = 0; i < 64; ++i) {
    const bool fits = block.cpu[i] >= block.at_least && block.cpu_max[i] >= block.cpu_need &&
                      block.ram_max[i] >= block.ram_need;
    rows |= std::uint64_t{fits} << i;
  }
  return rows;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) __m256i eight_of(const std::int32_t* column) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(column));
}

// The same, eight rows at a time.
__attribute__((target("avx2"))) std::uint64_t search_by_eights(const Block& block) {
  const __m256i at_least = _mm256_set1_epi32(block.at_least);
  const __m256i cpu_need = _mm256_set1_epi32(block.cpu_need);
  const __m256i ram_need = _mm256_set1_epi32(block.ram_need);
  std::uint64_t rows = 0;
  for (unsigned i = 0; i < 64; i += 8) {
    __m256i misses = _mm256_cmpgt_epi32(at_least, eight_of(block.cpu + i));
    misses = _mm256_or_si256(misses, _mm256_cmpgt_epi32(cpu_need, eight_of(block.cpu_max + i)));
    misses = _mm256_or_si256(misses, _mm256_cmpgt_epi32(ram_need, eight_of(block.ram_max + i)));
    const auto missed = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(misses)));
    rows |= std::uint64_t{~missed & 0xffu} << i;
  }
  return rows;
}
#endif

using Search = std::uint64_t (*)(const Block&);

Search the_search() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return search_by_eights;
#endif
  return search_plainly;
}

const Search kSearch = the_search();

int shift_for(std::int64_t largest) {
  int shift = 0;
  while ((largest >> shift) >= kColumnMax) ++shift;
  return shift;
}

}  // namespace

NodeRows::NodeRows(std::size_t rows, const NodeRoom& largest)
    : rooms_(rows),
      best_of_block_((rows + 63) / 64, 0),
      cpu_shift_(shift_for(largest.cpu)),
      ram_shift_(shift_for(largest.ram)) {
  const std::size_t padded = best_of_block_.size() * 64;
  cpu_.resize(padded);
  ram_.resize(padded);
  cpu_max_.resize(padded, -1);
  ram_max_.resize(padded, -1);
}

std::int32_t NodeRows::in_column(std::int64_t amount, int shift) const {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(amount >> shift, -1, kColumnMax));
}

bool NodeRows::is_rounded(const NodeRoom& room) const {
  const std::int64_t cpu = std::int64_t{in_column(room.cpu, cpu_shift_)} << cpu_shift_;
  const std::int64_t ram = std::int64_t{in_column(room.ram, ram_shift_)} << ram_shift_;
  return cpu != room.cpu || ram != room.ram;
}

void NodeRows::set(std::size_t row, const NodeRoom& room) {
  if (rooms_[row] == room && cpu_max_[row] >= 0) return;
  const std::int64_t before = key_of(columns_of(row));
  if (is_rounded(rooms_[row])) --rounded_;
  if (is_rounded(room)) ++rounded_;
  rooms_[row] = room;
  cpu_[row] = in_column(room.cpu, cpu_shift_);
  ram_[row] = in_column(room.ram, ram_shift_);
  cpu_max_[row] = in_column(room.cpu_max, cpu_shift_);
  ram_max_[row] = in_column(room.ram_max, ram_shift_);
  std::int64_t& best = best_of_block_[row / 64];
  const std::int64_t now = key_of(columns_of(row));
  if (now >= best) {
    best = now;
  } else if (before == best) {
    best = 0;
    const std::size_t first = row / 64 * 64;
    for (std::size_t i = first; i < first + 64; ++i) best = std::max(best, key_of(columns_of(i)));
  }
}

std::uint64_t NodeRows::candidates(std::size_t block, const Need& need, std::int32_t cpu) const {
  const std::size_t first = block * 64;
  return kSearch({.cpu = &cpu_[first],
                  .cpu_max = &cpu_max_[first],
                  .ram_max = &ram_max_[first],
                  .at_least = cpu,
                  .cpu_need = in_column(need.cpu, cpu_shift_),
                  .ram_need = in_column(need.ram, ram_shift_)});
}

std::size_t NodeRows::bytes() const {
  return rooms_.capacity() * sizeof(NodeRoom) + best_of_block_.capacity() * sizeof(std::int64_t) +
         (cpu_.capacity() + ram_.capacity() + cpu_max_.capacity() + ram_max_.capacity()) *
             sizeof(std::int32_t);
}

}  // namespace berth::placement
