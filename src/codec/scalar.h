#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/id.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/suggest.h"
#include "base/time.h"
#include "codec/text.h"
#include "model/item.h"
#include "model/names.h"
#include "model/network.h"
#include "model/runtime.h"

// Single values and how people write them. Parsing says what is wrong with a text; whether a value
// makes sense where it stands is asked by codec/rules.h.
namespace berth::codec {

// "128Mi": bytes, with Ki, Mi, Gi, Ti.
Result<Bytes> parse_bytes(std::string_view text);

// A whole number between two bounds, both included.
template <std::integral T>
Result<T> parse_integer(std::string_view text, T least = std::numeric_limits<T>::min(),
                        T most = std::numeric_limits<T>::max());

// Whether a text is a whole number, of any size.
bool is_integer(std::string_view text);

// What is a string in JSON: specialised with `text(value)` and `parse(text)`, its inverse.
template <class T>
struct Scalar;

template <class T>
concept TextValue = requires(const T& value) {
  Scalar<T>::text(value);
};

template <>
struct Scalar<std::string> {
  static const std::string& text(const std::string& value) { return value; }
  static Result<std::string> parse(std::string_view text) { return std::string(text); }
};

template <>
struct Scalar<SharedText> {
  static const std::string& text(const SharedText& value) { return value.text(); }
  static Result<SharedText> parse(std::string_view text) { return SharedText(text); }
};

template <class Tag>
struct Scalar<Id<Tag>> {
  static const std::string& text(const Id<Tag>& id) { return id.value(); }
  static Result<Id<Tag>> parse(std::string_view text) { return Id<Tag>(text); }
};

// "1m30s"; us, ms, s, m and h, from the largest to the smallest.
template <>
struct Scalar<Duration> {
  static std::string text(const Duration& value);
  static Result<Duration> parse(std::string_view text);
};

// "8080/tcp"; tcp may be left out.
template <>
struct Scalar<model::Port> {
  static std::string text(const model::Port& value);
  static Result<model::Port> parse(std::string_view text);
};

// "broker/1883/tcp"; tcp may be left out.
template <>
struct Scalar<model::AllowedConnection> {
  static std::string text(const model::AllowedConnection& value);
  static Result<model::AllowedConnection> parse(std::string_view text);
};

// "10.0.0.1"
template <>
struct Scalar<model::Ipv4> {
  static std::string text(const model::Ipv4& value);
  static Result<model::Ipv4> parse(std::string_view text);
};

// "10.0.0.0/16"
template <>
struct Scalar<model::Subnet> {
  static std::string text(const model::Subnet& value);
  static Result<model::Subnet> parse(std::string_view text);
};

// Words from elsewhere for what we call otherwise: {their word, ours}.
template <class Enum>
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 0> kSynonyms{};

template <>
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 6>
    kSynonyms<model::RuntimeType>{{
        {"docker", "crun"},
        {"podman", "crun"},
        {"containerd", "runc"},
        {"qemu", "vm"},
        {"native", "process"},
        {"wasmtime", "wasm"},
    }};

template <model::Named Enum>
struct Scalar<Enum> {
  static std::string_view text(Enum value) { return model::to_string(value); }

  static Result<Enum> parse(std::string_view text) {
    if (const auto value = model::from_string<Enum>(text)) return *value;
    return invalid_input(fmt::format("{} is no {} ({}).{}", in_quotes(text),
                                     model::Names<Enum>::kWhat, fmt::join(words(), ", "),
                                     suggestion(text)));
  }

  static std::vector<std::string_view> words() {
    std::vector<std::string_view> words;
    for (const auto& entry : model::Names<Enum>::kTable) words.push_back(entry.second);
    return words;
  }

 private:
  static std::string suggestion(std::string_view text) {
    auto known = words();
    for (const auto& synonym : kSynonyms<Enum>) known.push_back(synonym.first);
    const auto word = nearest(text, known);
    return word ? fmt::format(" Did you mean \"{}\"?", translated(*word)) : std::string();
  }

  static std::string_view translated(std::string_view word) {
    for (const auto& [theirs, ours] : kSynonyms<Enum>) {
      if (theirs == word) return ours;
    }
    return word;
  }
};

template <std::integral T>
Result<T> parse_integer(std::string_view text, T least, T most) {
  if (!is_integer(text)) return invalid_input(in_quotes(text) + " is no whole number");
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value < least || value > most) {
    return invalid_input(fmt::format("must be {} to {}, not {}", least, most, in_quotes(text)));
  }
  return value;
}

}  // namespace berth::codec
