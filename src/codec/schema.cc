#include "codec/schema.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "codec/describe_node.h"
#include "codec/json_writer.h"
#include "codec/manifest.h"

// The third use of the descriptions: what they say, for editors.
namespace berth::codec {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json schema_of();

// Rules, as a schema can say them.
void state(Json& schema, const Range& range) {
  schema["minimum"] = range.least;
  schema["maximum"] = range.most;
}

void state(Json& schema, NonEmpty) {
  schema[schema["type"] == "array" ? "minItems" : "minLength"] = 1;
}

void state(Json& schema, Unique) { schema["uniqueItems"] = true; }

// Zero is no pattern that is worth its ugliness; the program says it.
void state(Json&, Positive) {}

void state(Json& schema, const NoNamespace&) { schema["not"] = Json::object(); }

template <class Make>
requires requires { Make::kPattern; }
void state(Json& schema, Make) {
  schema["pattern"] = Make::kPattern;
  schema["maxLength"] = Make::kLengthMax;
}

template <class Rule>
void state(Json& schema, const Each<Rule>& each) {
  const bool is_list = schema["type"] == "array";
  state(is_list ? schema["items"] : schema["propertyNames"], each.rule);
}

// A version may be written like a number; it is taken as its text.
void state(Json& schema, Version) {
  state<Version>(schema, Version{});
  schema["type"] = {"string", "number"};
}

Json text_schema(std::string_view pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

template <class T>
struct TextSchema {
  static Json make() { return {{"type", "string"}}; }
};
template <class Tag>
struct TextSchema<Id<Tag>> {
  static Json make() {
    Json schema = {{"type", "string"}};
    state(schema, Name{});
    return schema;
  }
};
template <model::Named Enum>
struct TextSchema<Enum> {
  static Json make() { return {{"enum", Scalar<Enum>::words()}}; }
};
template <>
struct TextSchema<Duration> {
  static Json make() {
    Json schema = text_schema("^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?$");
    schema["minLength"] = 2;
    return schema;
  }
};
template <>
struct TextSchema<model::Port> {
  static Json make() {
    Json schema = text_schema("^[0-9]+(/(tcp|udp))?$");
    schema["type"] = {"string", "integer"};
    return schema;
  }
};
template <>
struct TextSchema<model::AllowedConnection> {
  static Json make() { return text_schema("^[A-Za-z0-9][A-Za-z0-9._-]*/[0-9]+(/(tcp|udp))?$"); }
};

Json bytes_schema() {
  Json schema = {{"type", {"integer", "string"}}, {"pattern", "^[0-9]+(Ki|Mi|Gi|Ti)?$"}};
  state(schema, kBytes);
  return schema;
}

Json dmips_schema() {
  Json schema = {{"type", "integer"}};
  state(schema, kDmips);
  return schema;
}

template <class T>
Json integer_schema() {
  Json schema = {{"type", "integer"}};
  schema["minimum"] = std::numeric_limits<T>::min();
  schema["maximum"] = std::numeric_limits<T>::max();
  return schema;
}

// The visitor: one map.
class SchemaWriter : public Visitor {
 public:
  template <class T, class... Rules>
  void field(std::string_view name, const T& value, std::string_view help, const Rules&... rules) {
    Json& schema = add(name, schema_of<T>(), help);
    (state(schema, rules), ...);
    if constexpr (kIsCountOr<T>) schema["pattern"] = fmt::format("^{}$", value.word);
    std::string text;
    write_json(text, value);
    const bool says_something = text != "null" && text != "\"\"" && text != "[]" && text != "{}";
    if (says_something) schema["default"] = Json::parse(text);
  }

  template <class T, class... Rules>
  void required(std::string_view name, const T&, std::string_view help, const Rules&... rules) {
    Json& schema = add(name, schema_of<T>(), help);
    (state(schema, rules), ...);
    schema_["required"].push_back(name);
  }

  template <class... Types, class... Options>
  void one_of(const std::variant<Types...>&, const Options&... options) {
    const auto add_option = [&]<class T>(const Option<T>& option) {
      add(option.name, schema_of<T>(), option.help);
      schema_["oneOf"].push_back({{"required", {option.name}}});
    };
    (add_option(options), ...);
  }

  template <class Describe>
  void group(Presence presence, std::string_view name, std::string_view help,
             const Describe& describe_it) {
    SchemaWriter inside;
    describe_it(inside);
    add(name, std::move(inside).take(), help);
    if (presence == Presence::Required) schema_["required"].push_back(name);
  }

  void constant(std::string_view name, std::string_view text, std::string_view help) {
    add(name, {{"const", text}}, help);
    schema_["required"].push_back(name);
  }

  Json take() && { return std::move(schema_); }

 private:
  Json& add(std::string_view name, Json schema, std::string_view help) {
    schema["description"] = help;
    return schema_["properties"][std::string(name)] = std::move(schema);
  }

  Json schema_ = {
      {"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
};

template <class T>
Json struct_schema() {
  SchemaWriter writer;
  const auto value = initial<T>();
  describe_value(writer, value);
  return std::move(writer).take();
}

template <class T>
Json schema_of() {
  if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (IntegerValue<T>) {
    return integer_schema<T>();
  } else if constexpr (std::same_as<T, Bytes>) {
    return bytes_schema();
  } else if constexpr (std::same_as<T, Dmips>) {
    return dmips_schema();
  } else if constexpr (TextValue<T>) {
    return TextSchema<T>::make();
  } else if constexpr (OptionalValue<T>) {
    return schema_of<typename T::value_type>();
  } else if constexpr (ListValue<T>) {
    return {{"type", "array"}, {"items", schema_of<typename T::value_type>()}};
  } else if constexpr (MapValue<T>) {
    return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  } else if constexpr (kIsCountOr<T>) {
    return {{"type", {"integer", "string"}}};
  } else if constexpr (Wrapper<T>) {
    T value;
    Json schema = schema_of<std::remove_reference_t<decltype(wrapped(value))>>();
    state(schema, NonEmpty{});
    return schema;
  } else {
    return struct_schema<T>();
  }
}

template <DocumentValue D>
void add_document(Json& schema) {
  SchemaWriter writer;
  const D document;
  describe_document(writer, document);
  const std::string kind(TraitsOf<D>::kKind.name);
  schema["$defs"][kind] = std::move(writer).take();
  schema["oneOf"].push_back({{"$ref", "#/$defs/" + kind}});
}

}  // namespace

std::string json_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Berth manifest"},
                 {"oneOf", Json::array()}};
  model::for_each_kind([&]<class D>(std::type_identity<D>) { add_document<D>(schema); });
  return schema.dump(2);
}

}  // namespace berth::codec
