#include "placement/relief_text.h"

#include <fmt/format.h>

#include "base/check.h"

namespace berth::placement {
namespace {

template <class Q>
std::string change_text(const char* what, Q before, Q planned, Q goal, Q capacity) {
  return fmt::format("{} {} -> {}, min {}", what, percent_text(before.count(), capacity.count()),
                     percent_text(planned.count(), capacity.count()),
                     percent_text(goal.count(), capacity.count()));
}

}  // namespace

std::string percent_text(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  const auto permille = static_cast<std::int64_t>(
      (__extension__ static_cast<__int128>(part) * 1000 + whole / 2) / whole);
  return fmt::format("{}.{} %", permille / 10, permille % 10);
}

std::string usage_text(const Relief& relief) {
  std::string text;
  if (relief.overloaded.cpu) {
    text = change_text("cpu", relief.before.cpu, relief.planned.cpu, relief.goal.cpu,
                       relief.capacity.cpu);
  }
  if (!relief.overloaded.ram) return text;
  return text + (text.empty() ? "" : "; ") +
         change_text("ram", relief.before.ram, relief.planned.ram, relief.goal.ram,
                     relief.capacity.ram);
}

std::string why_text(const Relief& relief) {
  switch (*relief.unrelieved) {
    case Unrelieved::NothingMayMove:
      return "what runs there is pinned, a component or not the cause";
    case Unrelieved::TooLittleMayMove: return "all that may move is not enough";
    case Unrelieved::NoOtherPlace: return relief.detail;
  }
  CHECK(false, "unknown reason");
}

}  // namespace berth::placement
