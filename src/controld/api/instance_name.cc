#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/suggest.h"
#include "codec/text.h"
#include "controld/api/services.h"

namespace berth::controld::api {
namespace {

Error bad_name(std::string_view text) {
  return invalid_input(fmt::format("{} names no instance: item[/subject[/index]] is wanted",
                                   codec::in_quotes(text)));
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t slash = text.find('/');
    parts.emplace_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

std::set<model::SubjectId> subjects_of(const model::ItemId& item,
                                       const std::vector<model::InstanceKey>& known) {
  std::set<model::SubjectId> subjects;
  auto it = std::ranges::lower_bound(known, model::InstanceKey{item, {}, 0});
  for (; it != known.end() && it->item == item; ++it) subjects.insert(it->subject);
  return subjects;
}

Error unknown(const model::InstanceKey& key, const std::vector<model::InstanceKey>& known) {
  std::set<std::string> names;
  for (const model::InstanceKey& other : known) {
    names.insert(other.item == key.item ? model::to_string(other) : other.item.value());
  }
  const bool knows_item = !subjects_of(key.item, known).empty();
  const std::string typed = knows_item ? model::to_string(key) : key.item.value();
  return not_found(
      fmt::format("there is no instance {}.{}", model::to_string(key),
                  did_you_mean(typed, std::vector<std::string>(names.begin(), names.end()))));
}

}  // namespace

Result<InstanceName> parse_instance_name(std::string_view text) {
  constexpr std::string_view kPrefix = "instance/";
  std::string_view rest = text;
  if (rest.starts_with(kPrefix)) rest.remove_prefix(kPrefix.size());
  const std::vector<std::string> parts = split(rest);
  if (parts.size() > 3 || parts.front().empty()) return bad_name(text);
  InstanceName name{model::ItemId(parts[0]), std::nullopt, 0};
  if (parts.size() > 1) name.subject = model::SubjectId(parts[1]);
  if (parts.size() > 2) {
    const char* end = parts[2].data() + parts[2].size();
    const auto [stopped, error] = std::from_chars(parts[2].data(), end, name.index);
    if (error != std::errc{} || stopped != end) return bad_name(text);
  }
  return name;
}

Result<model::InstanceKey> find_instance(std::string_view text,
                                         const std::vector<model::InstanceKey>& known) {
  const InstanceName name = TRY(parse_instance_name(text));
  model::InstanceKey key{name.item, model::SubjectId("default"), name.index};
  if (name.subject) {
    key.subject = *name.subject;
  } else if (const auto subjects = subjects_of(key.item, known); subjects.size() == 1) {
    key.subject = *subjects.begin();
  }
  if (!std::ranges::binary_search(known, key)) return unknown(key, known);
  return key;
}

}  // namespace berth::controld::api
