#include "model/tables.h"

#include <fmt/format.h>

#include <charconv>

namespace berth::model {
namespace {

// The parts before and after the first separator; nullopt if there is none.
std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view text,
                                                                    char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped_at == end ? std::optional(number) : std::nullopt;
}

// One pair of functions for each type of key.
template <class Key>
struct Written;

template <>
struct Written<std::string> {
  static std::string text(const std::string& key) { return key; }
  static std::optional<std::string> read(std::string_view text) { return std::string(text); }
};

template <class Tag>
struct Written<Id<Tag>> {
  static std::string text(const Id<Tag>& key) { return key.value(); }
  static std::optional<Id<Tag>> read(std::string_view text) { return Id<Tag>(text); }
};

template <>
struct Written<std::uint64_t> {
  static std::string text(std::uint64_t key) { return fmt::format("{:020}", key); }
  static std::optional<std::uint64_t> read(std::string_view text) {
    return read_number<std::uint64_t>(text);
  }
};

template <>
struct Written<ItemKey> {
  static std::string text(const ItemKey& key) { return to_string(key); }
  static std::optional<ItemKey> read(std::string_view text) {
    const auto parts = halves(text, '@');
    if (!parts) return std::nullopt;
    return ItemKey{ItemId(parts->first), std::string(parts->second)};
  }
};

template <>
struct Written<InstanceKey> {
  static std::string text(const InstanceKey& key) { return to_string(key); }
  static std::optional<InstanceKey> read(std::string_view text) {
    const auto item = halves(text, '/');
    const auto rest = item ? halves(item->second, '/') : std::nullopt;
    const auto index = rest ? read_number<std::uint32_t>(rest->second) : std::nullopt;
    if (!index) return std::nullopt;
    return InstanceKey{ItemId(item->first), SubjectId(rest->first), *index};
  }
};

template <>
struct Written<ApplicationKey> {
  static std::string text(const ApplicationKey& key) { return to_string(key); }
  static std::optional<ApplicationKey> read(std::string_view text) {
    const auto parts = halves(text, '/');
    if (!parts) return std::nullopt;
    return ApplicationKey{std::string(parts->first), std::string(parts->second)};
  }
};

template <class First, class Second>
struct Written<std::pair<First, Second>> {
  using Key = std::pair<First, Second>;
  static std::string text(const Key& key) {
    return Written<First>::text(key.first) + "/" + Written<Second>::text(key.second);
  }
  static std::optional<Key> read(std::string_view text) {
    const auto parts = halves(text, '/');
    if (!parts) return std::nullopt;
    auto first = Written<First>::read(parts->first);
    auto second = Written<Second>::read(parts->second);
    if (!first || !second) return std::nullopt;
    return Key(std::move(*first), std::move(*second));
  }
};

template <>
struct Written<OnlyKey> {
  static constexpr std::string_view kText = "counters";
  static std::string text(OnlyKey) { return std::string(kText); }
  static std::optional<OnlyKey> read(std::string_view text) {
    return text == kText ? std::optional(OnlyKey{}) : std::nullopt;
  }
};

// So that the keys of all tables can be written, wherever they are.
template <class... Tables>
constexpr auto functions_of(const std::tuple<Tables...>&) {
  return std::tuple{std::pair(&key_text<typename Tables::Key>, &read_key<typename Tables::Key>)...};
}

}  // namespace

template <class Key>
std::string key_text(const Key& key) {
  return Written<Key>::text(key);
}

template <class Key>
std::optional<Key> read_key(std::string_view text) {
  return Written<Key>::read(text);
}

[[gnu::used]] const auto kKeysOfTables = functions_of(kTables);

}  // namespace berth::model
