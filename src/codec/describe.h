#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "codec/rules.h"
#include "model/manifest.h"

// Each struct has one description, `describe(visitor, value)`, that names its fields once and
// serves reading, writing and the schema. A visitor offers
//
//   field(name, value, help, rules...)      may be left out; a new object has the default
//   required(name, value, help, rules...)
//   one_of(variant, Option<T>{name, help}...)  exactly one of them must be given
//   group(presence, name, help, describe_it)   a map in the text that is no struct of the model
//   constant(name, text, help)                 must be there and say exactly this
//
// and derives from Visitor, by which descriptions are found wherever the visitor is defined.
// Descriptions take values that are const (writing) or not (reading). They bind all members of the
// struct, so that one that is added and not described does not compile.
namespace berth::codec {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

struct Visitor {};

enum class Presence { Required, Optional };

template <class T>
struct Option {
  using Type = T;
  std::string_view name;
  std::string_view help;
};

// A struct that is written as the one value it holds.
template <Is<model::OciImage> T>
auto& wrapped(T& image) {
  return image.reference;
}
template <Is<model::CommandImage> T>
auto& wrapped(T& image) {
  return image.argv;
}
template <Is<model::ExecCheck> T>
auto& wrapped(T& check) {
  return check.argv;
}

template <class T>
concept Wrapper = requires(T& value) {
  wrapped(value);
};

// A count for which people may write a word, such as `all`, which is nullopt.
template <class Count>
struct CountOr {
  Count& count;
  std::string_view word;
};
template <class Count>
CountOr(Count&, std::string_view) -> CountOr<Count>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
concept OptionalValue = kIsOptional<T>;

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsList<std::set<T>> = true;
template <class T>
concept ListValue = kIsList<T>;

template <class T>
concept MapValue = Is<T, std::map<std::string, std::string>>;

template <class T>
concept IntegerValue = std::integral<T> && !std::same_as<T, bool>;

template <class T>
inline constexpr bool kIsCountOr = false;
template <class T>
inline constexpr bool kIsCountOr<CountOr<T>> = true;

// All that has a description.
template <class T>
concept Struct =
    std::is_class_v<T> && !TextValue<T> && !Wrapper<T> && !OptionalValue<T> && !ListValue<T> &&
    !MapValue<T> && !kIsCountOr<T> && !std::same_as<T, Bytes> && !std::same_as<T, Dmips>;

// A value of which nothing has been said yet.
template <class T>
T initial() {
  return T{};
}
template <>
inline model::RunningInstance initial() {
  model::RunningInstance instance;
  instance.key.subject = model::RunRequest{}.subject;
  return instance;
}

template <>
inline model::RestingInstance initial() {
  return {.key = {.item = {}, .subject = model::RunRequest{}.subject, .index = 0}};
}

using model::DocumentValue;

template <class T>
using TraitsOf = model::DocumentTraits<std::remove_const_t<T>>;

inline constexpr std::string_view kApiVersion = "berth/v1";

template <class V, DocumentValue D>
void describe_namespace(V& metadata, D& document) {
  if constexpr (TraitsOf<D>::kKind.has_namespace) {
    metadata.field("namespace", TraitsOf<D>::ns(document), "the namespace it belongs to", Name{});
  } else {
    std::string none;
    metadata.field("namespace", none, "must be left out", NoNamespace{TraitsOf<D>::kKind.name});
  }
}

// A document as people write it. `describe` of a document is its spec.
template <class V, DocumentValue D>
void describe_document(V& v, D& document) {
  v.constant("apiVersion", kApiVersion, "the form of this document");
  v.constant("kind", TraitsOf<D>::kKind.name, "what this document describes");
  v.group(Presence::Required, "metadata", "what the document is called", [&](auto& metadata) {
    metadata.required("name", TraitsOf<D>::name(document),
                      "unique for its kind (and version, or namespace)", Name{});
    describe_namespace(metadata, document);
    // Accepted for the tools that set them; nothing depends on them yet.
    std::map<std::string, std::string> labels;
    metadata.field("labels", labels, "free key-value pairs", Each{Label{}});
  });
  v.group(TraitsOf<D>::kKind.has_spec ? Presence::Required : Presence::Optional, "spec",
          "what is wanted", [&](auto& spec) { describe(spec, document); });
}

// A struct as a value inside others; a document has its name beside its spec there.
template <class V, class T>
void describe_value(V& v, T& value) {
  if constexpr (DocumentValue<T>) {
    v.required("name", TraitsOf<T>::name(value), "metadata.name of the document", Name{});
    if constexpr (TraitsOf<T>::kKind.has_namespace) {
      v.required("namespace", TraitsOf<T>::ns(value), "metadata.namespace of it", Name{});
    }
  }
  describe(v, value);
}

}  // namespace berth::codec
