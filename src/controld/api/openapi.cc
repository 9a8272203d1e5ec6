#include "controld/api/openapi.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <map>
#include <set>
#include <vector>

#include "codec/json_parts.h"
#include "controld/api/methods.h"

namespace berth::controld::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

namespace json = codec::json;

std::string simple(std::string_view type, std::string_view format = "") {
  return json::object(
      {{"type", json::text(type)}, {"format", format.empty() ? "" : json::text(format)}});
}

std::string reference(std::string_view name) {
  return json::object({{"$ref", json::text(fmt::format("#/components/schemas/{}", name))}});
}

bool is_struct(const Descriptor& message) {
  return message.full_name() == "google.protobuf.Struct";
}

std::string reference_to(const Descriptor& message) {
  return is_struct(message) ? simple("object") : reference(message.name());
}

std::string enum_schema(const FieldDescriptor& field) {
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    names.push_back(field.enum_type()->value(i)->name());
  }
  return json::object({{"type", json::text("string")}, {"enum", json::texts(names)}});
}

// As the JSON mapping of protobuf has it: 64-bit numbers are strings.
std::string single_schema(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_BOOL: return simple("boolean");
    case FieldDescriptor::TYPE_STRING: return simple("string");
    case FieldDescriptor::TYPE_BYTES: return simple("string", "byte");
    case FieldDescriptor::TYPE_INT64: return simple("string", "int64");
    case FieldDescriptor::TYPE_UINT64: return simple("string", "uint64");
    case FieldDescriptor::TYPE_ENUM: return enum_schema(field);
    case FieldDescriptor::TYPE_MESSAGE: return reference_to(*field.message_type());
    default: return simple("integer");
  }
}

std::string schema_of(const FieldDescriptor& field) {
  const std::string single = single_schema(field);
  if (!field.is_repeated()) return single;
  return json::object({{"type", json::text("array")}, {"items", single}});
}

std::string object_schema(const std::vector<json::Member>& properties) {
  return json::object({{"type", json::text("object")}, {"properties", json::object(properties)}});
}

std::string schema_of(const Descriptor& message) {
  std::vector<json::Member> properties;
  for (int i = 0; i < message.field_count(); ++i) {
    properties.emplace_back(message.field(i)->json_name(), schema_of(*message.field(i)));
  }
  return object_schema(properties);
}

// The same form for all calls.
std::string error_schema() {
  return object_schema(
      {{"error", object_schema({{"code", simple("string")}, {"message", simple("string")}})}});
}

void collect(const Descriptor& message, std::map<std::string, const Descriptor*>& found) {
  if (is_struct(message) || !found.emplace(message.name(), &message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    if (message.field(i)->message_type() != nullptr) {
      collect(*message.field(i)->message_type(), found);
    }
  }
}

std::string path_of(const Route& route) {
  std::string path(route.path);
  if (const auto dots = path.find("...}"); dots != std::string::npos) path.erase(dots, 3);
  return path;
}

std::set<std::string> path_fields(const std::string& path) {
  std::set<std::string> fields;
  for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{', at + 1)) {
    fields.insert(path.substr(at + 1, path.find('}', at) - at - 1));
  }
  return fields;
}

std::string parameter(const std::string& name, std::string_view where, const std::string& schema) {
  return json::object({{"name", json::text(name)},
                       {"in", json::text(where)},
                       {"required", where == "path" ? "true" : "false"},
                       {"schema", schema}});
}

std::string parameters_of(const Method& method, const Route& route) {
  const std::set<std::string> in_path = path_fields(path_of(route));
  std::vector<std::string> parameters;
  for (const std::string& name : in_path) {
    parameters.push_back(parameter(name, "path", simple("string")));
  }
  const Descriptor& request = *method.descriptor->input_type();
  for (int i = 0; route.verb == "GET" && i < request.field_count(); ++i) {
    const FieldDescriptor& field = *request.field(i);
    if (in_path.contains(field.json_name()) || field.name() == route.fixed.first) continue;
    if (field.is_repeated() || field.message_type() != nullptr) continue;
    parameters.push_back(parameter(field.json_name(), "query", single_schema(field)));
  }
  return json::list(parameters);
}

std::string content(std::string_view type, const std::string& schema) {
  return json::object({{type, json::object({{"schema", schema}})}});
}

std::string response(std::string_view what, std::string_view type, const std::string& schema) {
  return json::object({{"description", json::text(what)}, {"content", content(type, schema)}});
}

std::string body_of(const Method& method, const Route& route) {
  if (route.verb != "POST") return "";
  const std::string schema = reference_to(*method.descriptor->input_type());
  return json::object({{"content", content("application/json", schema)}});
}

std::string operation(const Method& method, const Route& route, std::size_t number) {
  const bool streams = method.descriptor->server_streaming();
  const std::string suffix = number == 0 ? "" : std::to_string(number + 1);
  const std::string done = response("done", streams ? "text/event-stream" : "application/json",
                                    reference_to(*method.descriptor->output_type()));
  const std::string failed = response("an error", "application/json", reference("Error"));
  return json::object({{"operationId", json::text(std::string(method.name) + suffix)},
                       {"parameters", parameters_of(method, route)},
                       {"requestBody", body_of(method, route)},
                       {"responses", json::object({{"200", done}, {"default", failed}})}});
}

std::string_view verb_of(const Route& route) {
  if (route.verb == "POST") return "post";
  return route.verb == "DELETE" ? "delete" : "get";
}

}  // namespace

std::string openapi(std::string_view version) {
  std::map<std::string, std::vector<json::Member>> operations;  // by path
  std::map<std::string, const Descriptor*> messages;
  for (const Method& method : methods()) {
    collect(*method.descriptor->input_type(), messages);
    collect(*method.descriptor->output_type(), messages);
    for (std::size_t i = 0; i < method.routes.size(); ++i) {
      const Route& route = method.routes[i];
      operations[path_of(route)].emplace_back(verb_of(route), operation(method, route, i));
    }
  }
  std::vector<json::Member> paths;
  for (const auto& [path, of_path] : operations) paths.emplace_back(path, json::object(of_path));
  std::vector<json::Member> schemas{{"Error", error_schema()}};
  for (const auto& [name, message] : messages) schemas.emplace_back(name, schema_of(*message));
  return json::object(
      {{"openapi", json::text("3.0.3")},
       {"info", json::object({{"title", json::text("Berth")}, {"version", json::text(version)}})},
       {"paths", json::object(paths)},
       {"components", json::object({{"schemas", json::object(schemas)}})}});
}

}  // namespace berth::controld::api
