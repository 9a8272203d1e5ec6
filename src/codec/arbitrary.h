#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/random.h"
#include "codec/describe_pool.h"
#include "codec/describe_records.h"
#include "codec/reader.h"

// For tests: random values of everything that has a description, by the description, so that a new
// field is tested from its first day.
namespace berth::codec {

// As a visitor it fills a struct. In the form of manifests each field obeys its rules, in that of
// records it is whatever its type can hold.
class Arbitrary : public Visitor {
 public:
  Arbitrary(Form form, std::uint64_t seed) : form_(form), random_(seed) {}

  template <class T>
  T make() {
    auto value = initial<T>();
    fill(value);
    return value;
  }

  template <class T, class... Rules>
  void field(std::string_view, T&& value, std::string_view = {}, const Rules&... rules) {
    if (one_in(2)) fill(value, rules...);
  }
  template <class T, class... Rules>
  void required(std::string_view, T&& value, std::string_view = {}, const Rules&... rules) {
    fill(value, rules...);
  }
  template <class... Types, class... Options>
  void one_of(std::variant<Types...>& variant, const Options&... options) {
    const std::uint64_t chosen = random_.below(sizeof...(Options));
    std::uint64_t number = 0;
    const auto try_option = [&]<class T>(const Option<T>&) {
      if (number++ == chosen) fill(variant.template emplace<T>());
    };
    (try_option(options), ...);
  }
  template <class Describe>
  void group(Presence, std::string_view, std::string_view, const Describe& describe_it) {
    describe_it(*this);
  }

  Random& random() { return random_; }

 private:
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }

  void fill(bool& value) { value = one_in(2); }
  void fill(Bytes& value) { value = Bytes(integer(kBytes)); }
  void fill(Dmips& value) { value = Dmips(integer(kDmips)); }

  // 0 and the ends are where mistakes live.
  std::int64_t integer(const Range& range) {
    const bool any = form_ == Form::Record && one_in(4);
    const std::int64_t least = any ? std::numeric_limits<std::int64_t>::min() : range.least;
    const std::int64_t most = any ? std::numeric_limits<std::int64_t>::max() : range.most;
    switch (random_.below(4)) {
      case 0: return least;
      case 1: return most;
      case 2: return any ? static_cast<std::int64_t>(random_.next()) : random_.between(least, most);
      default: return std::min(most, std::max(least, random_.between(0, 1000)));
    }
  }

  template <IntegerValue T, class... Rules>
  void fill(T& value, const Rules&... rules) {
    using Limits = std::numeric_limits<T>;
    if constexpr (sizeof...(Rules) == 1) {
      if (form_ == Form::Manifest) return void(value = static_cast<T>(integer(rules...)));
    }
    value = one_in(3) ? Limits::max() : one_in(3) ? Limits::min() : static_cast<T>(random_.next());
  }

  template <TextValue T, class... Rules>
  void fill(T& value, const Rules&... rules) {
    if constexpr (std::is_enum_v<T>) {
      const auto& table = model::Names<T>::kTable;
      value = table[random_.below(table.size())].first;
    } else if constexpr (std::same_as<T, Duration>) {
      value = Duration(random_.between(1, 1000) * (one_in(2) ? 1 : 1000));
    } else if constexpr (std::same_as<T, Time>) {
      value = Time(Duration(random_.between(1, 1'000'000)));
    } else if constexpr (std::same_as<T, model::Port>) {
      value.number = static_cast<std::uint16_t>(random_.between(1, 65535));
      fill(value.protocol);
    } else if constexpr (std::same_as<T, model::Ipv4>) {
      value.value = static_cast<std::uint32_t>(random_.next());
    } else if constexpr (std::same_as<T, model::Subnet>) {
      value.prefix = static_cast<std::uint8_t>(random_.below(33));
      value.base.value =
          value.prefix == 0 ? 0 : static_cast<std::uint32_t>(random_.next()) << (32 - value.prefix);
    } else if constexpr (std::same_as<T, model::AllowedConnection>) {
      fill(value.item);
      fill(value.port);
    } else {
      value = T(form_ == Form::Record          ? any_text()
                : std::same_as<T, std::string> ? text_for(rules...)
                                               : name());
    }
  }

  std::string text_for() { return any_text(); }
  std::string text_for(NonEmpty) { return any_text() + "x"; }
  std::string text_for(Name) { return name(); }
  std::string text_for(const NoNamespace&) { return ""; }
  std::string text_for(VariableName) { return name(); }
  std::string text_for(Version) { return name() + "+1:2~3"; }
  std::string text_for(Label) { return name() + " = \xC3\xA4\"'#\xF0\x9F\x9A\xA2"; }

  std::string name() {
    std::string text(1, static_cast<char>('a' + random_.below(26)));
    const std::uint64_t length = random_.below(12);
    for (std::uint64_t i = 0; i < length; ++i) text += "abcxyz019._-"[random_.below(12)];
    return text;
  }

  std::string any_text() {
    static constexpr std::string_view kPieces[] = {"a",
                                                   "/",
                                                   ".",
                                                   "\"",
                                                   "\\",
                                                   "\n",
                                                   "\r",
                                                   "\t",
                                                   "\x01",
                                                   "\x7F",
                                                   " ",
                                                   ":",
                                                   "#",
                                                   "{",
                                                   "null",
                                                   "\xC2\x85",
                                                   "\xC3\xA4",
                                                   "\xE2\x80\xA8",
                                                   "\xEF\xBB\xBF",
                                                   "\xEF\xBF\xBF",
                                                   "\xF0\x9F\x9A\xA2"};
    std::string text;
    const std::uint64_t length = random_.below(6);
    for (std::uint64_t i = 0; i < length; ++i) text += kPieces[random_.below(std::size(kPieces))];
    return text;
  }

  template <OptionalValue T, class... Rules>
  void fill(T& value, const Rules&... rules) {
    value.reset();
    if (!one_in(4)) fill(value.emplace(initial<typename T::value_type>()), rules...);
  }

  template <class Count, class... Rules>
  void fill(CountOr<Count> value, const Rules&... rules) {
    fill(value.count, rules...);
  }

  template <ListValue T, class... Rules>
  void fill(T& list, const Rules&... rules) {
    constexpr bool kUnique = (std::same_as<Rules, Unique> || ...);
    constexpr bool kNonEmpty = (std::same_as<Rules, NonEmpty> || ...);
    const std::uint64_t length = random_.below(4) + (kNonEmpty ? 1 : 0);
    const auto element_rules = std::tuple_cat(element_rule(rules)...);
    list.clear();
    for (std::uint64_t i = 0; i < length; ++i) {
      auto element = initial<typename T::value_type>();
      std::apply([&](const auto&... each) { fill(element, each...); }, element_rules);
      if (kUnique && std::find(list.begin(), list.end(), element) != list.end()) continue;
      list.insert(list.end(), std::move(element));
    }
  }

  template <MapValue T, class... Rules>
  void fill(T& map, const Rules&...) {
    for (std::uint64_t i = random_.below(4); i > 0; --i) map[name()] = any_text();
  }

  template <Wrapper T>
  void fill(T& value) {
    fill(wrapped(value), NonEmpty{});
  }

  template <Struct T>
  void fill(T& value) {
    describe_value(*this, value);
  }

  Form form_;
  Random random_;
};

}  // namespace berth::codec
