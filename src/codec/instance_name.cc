#include "codec/instance_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <iterator>
#include <limits>
#include <vector>

#include "base/suggest.h"
#include "codec/text.h"

namespace berth::codec {
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

Error bad_name(std::string_view text) {
  return invalid_input(
      fmt::format("{} names no instance: item[/subject[/index]] is wanted", in_quotes(text)));
}

// As it was typed, but on one line and not endless.
std::string printable(const model::InstanceKey& key) {
  const std::string quoted = in_quotes(model::to_string(key));
  return quoted.substr(1, quoted.size() - 2);
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
  const std::string message = fmt::format("there is no instance {}.", printable(key));
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

Result<InstanceName> parse_instance_name(std::string_view name) {
  constexpr std::string_view kPrefix = "instance/";
  std::string_view rest = name;
  if (rest.starts_with(kPrefix)) rest.remove_prefix(kPrefix.size());
  const std::vector<std::string> parts = split(rest);
  if (parts.size() > 3 || parts.front().empty()) return bad_name(name);
  InstanceName parsed{model::ItemId(parts[0]), std::nullopt, 0};
  if (parts.size() > 1) parsed.subject = model::SubjectId(parts[1]);
  if (parts.size() < 3) return parsed;
  const char* end = parts[2].data() + parts[2].size();
  const auto [stopped, error] = std::from_chars(parts[2].data(), end, parsed.index);
  if (error != std::errc{} || stopped != end) return bad_name(name);
  return parsed;
}

Result<model::InstanceKey> find_instance(std::string_view name,
                                         const std::set<model::InstanceKey>& known) {
  const InstanceName parsed = TRY(parse_instance_name(name));
  model::InstanceKey key{parsed.item, model::SubjectId("default"), parsed.index};
  if (parsed.subject) {
    key.subject = *parsed.subject;
  } else if (const auto subjects = subjects_of(key.item, known); subjects.size() == 1) {
    key.subject = *subjects.begin();
  }
  if (!known.contains(key)) return unknown(key, known);
  return key;
}

}  // namespace berth::codec
