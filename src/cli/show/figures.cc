#include "cli/show/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace berth::cli {
namespace {

constexpr std::int64_t kCells = 10;

// One decimal where it says something: "1.5 GiB", but "2 GiB" and "128 MiB".
std::string with_unit(double amount, std::string_view unit) {
  std::string digits = fmt::format("{:.1f}", amount);
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return fmt::format("{} {}", digits, unit);
}

}  // namespace

std::string human(Dmips amount) { return fmt::format("{} DMIPS", amount.count()); }

std::string human(Bytes amount) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(amount.count());
  if (value < 1024) return fmt::format("{} B", amount.count());
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0.
  for (value /= 1024; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return with_unit(value, kUnits[unit]);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::int64_t percent_of(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return 0;
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  return static_cast<std::int64_t>(std::min(share, 1e6) * 100 + 0.5);
}

std::string bar_of(std::size_t filled, std::size_t cells, const Style& style) {
  std::string out;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    if (style.unicode) {
      out += cell < filled ? "█" : "░";
    } else {
      out += cell < filled ? '#' : '.';
    }
  }
  return out;
}

std::string bar(std::int64_t part, std::int64_t whole, const Style& style) {
  std::int64_t filled = std::clamp((percent_of(part, whole) + 5) / 10, std::int64_t{0}, kCells);
  if (part > 0 && filled == 0) filled = 1;
  return bar_of(static_cast<std::size_t>(filled), kCells, style);
}

}  // namespace berth::cli
