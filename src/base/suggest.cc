#include "base/suggest.h"

#include <algorithm>
#include <vector>

namespace berth {
namespace {

// Longer words are no slips of the finger, and comparing them would cost hostile input nothing and
// us a lot.
constexpr std::size_t kLongestWord = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t length_difference(std::string_view a, std::string_view b) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size());
}

// A third of the word may be wrong.
std::size_t tolerance(std::string_view typed) { return std::max<std::size_t>(1, typed.size() / 3); }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::optional<std::string_view> nearest(std::string_view typed,
                                        std::span<const std::string_view> known) {
  if (typed.empty() || typed.size() > kLongestWord) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = tolerance(typed) + 1;
  for (const std::string_view word : known) {
    if (length_difference(typed, word) >= best_distance) continue;
    const std::size_t distance = edit_distance(typed, word);
    if (distance >= best_distance || distance >= word.size()) continue;
    best = word;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known) {
  const auto word = nearest(typed, known);
  return word ? " Did you mean \"" + std::string(*word) + "\"?" : std::string();
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known) {
  return did_you_mean(typed, std::vector<std::string_view>(known.begin(), known.end()));
}

}  // namespace berth
