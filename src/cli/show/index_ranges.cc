#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/show/plan_table.h"

namespace berth::cli {
namespace {

constexpr std::size_t kRangesMax = 4;

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

std::vector<Range> ranges_of(const std::vector<std::uint32_t>& indices) {
  std::vector<Range> ranges;
  for (const std::uint32_t index : indices) {
    if (!ranges.empty() && ranges.back().last + 1 == index) {
      ranges.back().last = index;
    } else {
      ranges.push_back({index, index});
    }
  }
  return ranges;
}

// Two neighbours are shorter with a comma.
std::string text_of(const Range& range) {
  if (range.first == range.last) return std::to_string(range.first);
  const std::string_view between = range.first + 1 == range.last ? "," : "..";
  return fmt::format("{}{}{}", range.first, between, range.last);
}

}  // namespace

std::string index_ranges(const std::vector<std::uint32_t>& indices) {
  const std::vector<Range> ranges = ranges_of(indices);
  std::vector<std::string> parts;
  for (const Range& range : ranges) {
    if (ranges.size() > kRangesMax && parts.size() + 1 == kRangesMax) break;
    parts.push_back(text_of(range));
  }
  if (ranges.size() > kRangesMax) parts.push_back(fmt::format("...,{}", ranges.back().last));
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace berth::cli
