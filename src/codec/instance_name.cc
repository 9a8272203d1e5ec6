#include "cli/instance_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <iterator>
#include <limits>
#include <vector>

#include "base/suggest.h"
#include "cli/table.h"

namespace berth::cli {
namespace {

constexpr std::size_t kSuggestionsMax = 3;
constexpr std::uint32_t kLastIndex = std::numeric_limits<std::uint32_t>::max();

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t slash = text.find('/');
    parts.emplace_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

Result<std::uint32_t> parse_index(const std::string& text) {
  std::uint32_t index = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, index);
  if (error == std::errc{} && stopped == end) return index;
  return invalid_input(fmt::format("\"{}\" is no index: a number is wanted", printable(text)));
}

std::set<model::SubjectId> subjects_of(const model::ItemId& item,
                                       const std::set<model::InstanceKey>& known) {
  std::set<model::SubjectId> subjects;
  for (auto it = known.lower_bound({item, {}, 0}); it != known.end() && it->item == item; ++it) {
    subjects.insert(it->subject);
  }
  return subjects;
}

std::string subjects_text(const model::ItemId& item, const std::set<model::SubjectId>& subjects) {
  std::vector<std::string> names;
  for (const model::SubjectId& subject : subjects) {
    if (names.size() == kSuggestionsMax) break;
    names.push_back(item.value() + "/" + subject.value());
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

// Suggests by the part that is wrong: an item, a subject of that item, or the indices there are.
Error unknown(const model::InstanceKey& key, const std::set<model::InstanceKey>& known) {
  const std::string message =
      fmt::format("there is no instance {}.", printable(model::to_string(key)));
  const auto subjects = subjects_of(key.item, known);
  if (subjects.empty()) {
    std::set<std::string> items;
    for (const model::InstanceKey& other : known) items.insert(other.item.value());
    return not_found(message +
                     did_you_mean(key.item.value(), std::vector(items.begin(), items.end())));
  }
  if (!subjects.contains(key.subject)) {
    return not_found(
        fmt::format("{} Did you mean {}?", message, subjects_text(key.item, subjects)));
  }
  const auto after = known.upper_bound({key.item, key.subject, kLastIndex});
  return not_found(fmt::format("{} Its last index is {}.", message, std::prev(after)->index));
}

}  // namespace

Result<model::InstanceKey> find_instance(std::string_view name,
                                         const std::set<model::InstanceKey>& known) {
  constexpr std::string_view kPrefix = "instance/";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const std::vector<std::string> parts = split(name);
  if (parts.size() > 3 || parts.front().empty()) {
    return invalid_input(
        fmt::format("\"{}\" names no instance: item[/subject[/index]] is wanted", printable(name)));
  }
  model::InstanceKey key{model::ItemId(parts[0]), model::SubjectId("default"), 0};
  if (parts.size() > 1) {
    key.subject = model::SubjectId(parts[1]);
  } else if (const auto subjects = subjects_of(key.item, known); subjects.size() == 1) {
    key.subject = *subjects.begin();
  }
  if (parts.size() > 2) key.index = TRY(parse_index(parts[2]));
  if (!known.contains(key)) return unknown(key, known);
  return key;
}

}  // namespace berth::cli
