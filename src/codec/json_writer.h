#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/describe.h"
#include "codec/text.h"

// Structs to JSON, by the descriptions: compact, in the order of the description, and without the
// fields that are as a new object has them.
namespace berth::codec {

// The texts that the fields of a new object have, in the order of the description; of a group, its
// fields.
struct DefaultText {
  std::string text;
  std::vector<DefaultText> fields;
};

template <class T>
void write_json(std::string& out, const T& value);

// The visitor that learns the default texts.
class DefaultsCollector : public Visitor {
 public:
  template <class T, class... Ignored>
  void field(std::string_view, const T& value, const Ignored&...) {
    write_json(fields_.emplace_back().text, value);
  }
  template <class... Ignored>
  void required(std::string_view, const Ignored&...) {
    fields_.emplace_back();
  }
  template <class... Ignored>
  void one_of(const Ignored&...) {
    fields_.emplace_back();
  }
  void constant(std::string_view, std::string_view, std::string_view) { fields_.emplace_back(); }
  template <class Describe>
  void group(Presence presence, std::string_view, std::string_view, const Describe& describe_it) {
    DefaultsCollector inside;
    describe_it(inside);
    fields_.push_back({presence == Presence::Optional ? "{}" : "", std::move(inside).take()});
  }

  std::vector<DefaultText> take() && { return std::move(fields_); }

 private:
  std::vector<DefaultText> fields_;
};

// The visitor that writes one object.
class ObjectWriter : public Visitor {
 public:
  ObjectWriter(std::string& out, const std::vector<DefaultText>& defaults)
      : out_(out), defaults_(defaults) {
    out_ += '{';
    begin_ = out_.size();
  }

  template <class T, class... Ignored>
  void field(std::string_view name, const T& value, const Ignored&...) {
    write(name, [&] { write_json(out_, value); });
  }
  template <class T, class... Ignored>
  void required(std::string_view name, const T& value, const Ignored&...) {
    write(name, [&] { write_json(out_, value); });
  }
  void constant(std::string_view name, std::string_view text, std::string_view) {
    write(name, [&] { append_json_string(out_, text); });
  }

  template <class... Types, class... Options>
  void one_of(const std::variant<Types...>& variant, const Options&... options) {
    const auto write_if_held = [&]<class T>(const Option<T>& option) {
      const T* held = std::get_if<T>(&variant);
      if (held != nullptr) write(option.name, [&] { write_json(out_, *held); });
    };
    (write_if_held(options), ...);
  }

  template <class Describe>
  void group(Presence, std::string_view name, std::string_view, const Describe& describe_it) {
    const auto& defaults = defaults_[index_].fields;
    write(name, [&] {
      ObjectWriter inside(out_, defaults);
      describe_it(inside);
      inside.finish();
    });
  }

  void finish() { out_ += '}'; }

 private:
  // Takes back what turns out to be the default, which is cheaper than knowing beforehand.
  template <class Write>
  void write(std::string_view name, const Write& write_it) {
    const std::size_t before = out_.size();
    if (before > begin_) out_ += ',';
    out_ += '"';
    out_ += name;  // of ours: there is nothing in it to escape
    out_ += "\":";
    const std::size_t value_at = out_.size();
    write_it();
    const auto text = std::string_view(out_).substr(value_at);
    if (text == defaults_[index_++].text) out_.resize(before);
  }

  std::string& out_;
  const std::vector<DefaultText>& defaults_;
  std::size_t begin_ = 0;
  std::size_t index_ = 0;
};

template <class T>
const std::vector<DefaultText>& defaults_of() {
  static const std::vector<DefaultText> defaults = [] {
    DefaultsCollector collector;
    auto value = initial<T>();
    describe_value(collector, value);
    return std::move(collector).take();
  }();
  return defaults;
}

template <DocumentValue D>
std::string write_document(const D& document) {
  static const std::vector<DefaultText> defaults = [] {
    DefaultsCollector collector;
    D value;
    describe_document(collector, value);
    return std::move(collector).take();
  }();
  std::string out;
  ObjectWriter object(out, defaults);
  describe_document(object, document);
  object.finish();
  return out;
}

template <class List>
void write_list(std::string& out, const List& list) {
  out += '[';
  for (const auto& element : list) {
    if (out.back() != '[') out += ',';
    write_json(out, element);
  }
  out += ']';
}

template <class Map>
void write_map(std::string& out, const Map& map) {
  out += '{';
  for (const auto& [key, value] : map) {
    if (out.back() != '{') out += ',';
    append_json_string(out, key);
    out += ':';
    write_json(out, value);
  }
  out += '}';
}

template <class Count>
void write_json_count_or(std::string& out, const CountOr<Count>& value) {
  if (value.count) return write_json(out, *value.count);
  append_json_string(out, value.word);
}

template <class T>
void write_json(std::string& out, const T& value) {
  if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (IntegerValue<T>) {
    const fmt::format_int text(value);
    out.append(text.data(), text.size());
  } else if constexpr (std::same_as<T, Bytes> || std::same_as<T, Dmips>) {
    write_json(out, value.count());
  } else if constexpr (TextValue<T>) {
    append_json_string(out, Scalar<T>::text(value));
  } else if constexpr (OptionalValue<T>) {
    if (value) return write_json(out, *value);
    out += "null";
  } else if constexpr (ListValue<T>) {
    write_list(out, value);
  } else if constexpr (MapValue<T>) {
    write_map(out, value);
  } else if constexpr (kIsCountOr<T>) {
    write_json_count_or(out, value);
  } else if constexpr (Wrapper<const T>) {
    write_json(out, wrapped(value));
  } else {
    ObjectWriter object(out, defaults_of<T>());
    describe_value(object, value);
    object.finish();
  }
}

}  // namespace berth::codec
