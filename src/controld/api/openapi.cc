#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <map>
#include <set>

#include "codec/text.h"
#include "controld/api/methods.h"

// The OpenAPI document: paths from the table of methods, schemas from the descriptors.
namespace berth::controld::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string in_quotes(std::string_view text) {
  std::string out;
  codec::append_json_string(out, text);
  return out;
}

bool is_struct(const Descriptor& message) {
  return message.full_name() == "google.protobuf.Struct";
}

std::string reference_to(const Descriptor& message) {
  if (is_struct(message)) return R"({"type":"object"})";
  return fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", message.name());
}

std::string enum_schema(const FieldDescriptor& field) {
  std::string values;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    values += (i == 0 ? "" : ",") + in_quotes(field.enum_type()->value(i)->name());
  }
  return fmt::format(R"({{"type":"string","enum":[{}]}})", values);
}

// As the JSON mapping of protobuf has it: 64-bit numbers are strings.
std::string single_schema(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_BOOL: return R"({"type":"boolean"})";
    case FieldDescriptor::TYPE_STRING: return R"({"type":"string"})";
    case FieldDescriptor::TYPE_BYTES: return R"({"type":"string","format":"byte"})";
    case FieldDescriptor::TYPE_INT64: return R"({"type":"string","format":"int64"})";
    case FieldDescriptor::TYPE_UINT64: return R"({"type":"string","format":"uint64"})";
    case FieldDescriptor::TYPE_ENUM: return enum_schema(field);
    case FieldDescriptor::TYPE_MESSAGE: return reference_to(*field.message_type());
    default: return R"({"type":"integer"})";
  }
}

std::string schema_of(const FieldDescriptor& field) {
  const std::string single = single_schema(field);
  return field.is_repeated() ? fmt::format(R"({{"type":"array","items":{}}})", single) : single;
}

std::string schema_of(const Descriptor& message) {
  std::string properties;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    properties +=
        fmt::format("{}{}:{}", i == 0 ? "" : ",", in_quotes(field.json_name()), schema_of(field));
  }
  return fmt::format(R"({{"type":"object","properties":{{{}}}}})", properties);
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

std::string parameters_of(const Method& method, const Route& route) {
  const std::set<std::string> in_path = path_fields(path_of(route));
  const Descriptor& request = *method.descriptor->input_type();
  std::string parameters;
  const auto add = [&](const std::string& name, const char* where, const std::string& schema) {
    parameters += fmt::format(R"({}{{"name":{},"in":"{}","required":{},"schema":{}}})",
                              parameters.empty() ? "" : ",", in_quotes(name), where,
                              where == std::string_view("path"), schema);
  };
  for (const std::string& name : in_path) add(name, "path", R"({"type":"string"})");
  if (route.verb != "GET") return parameters;
  for (int i = 0; i < request.field_count(); ++i) {
    const FieldDescriptor& field = *request.field(i);
    if (in_path.contains(field.json_name()) || field.name() == route.fixed.first) continue;
    if (!field.is_repeated() && field.message_type() == nullptr) {
      add(field.json_name(), "query", single_schema(field));
    }
  }
  return parameters;
}

std::string operation(const Method& method, const Route& route, std::size_t number) {
  const bool streams = method.descriptor->server_streaming();
  const std::string body =
      route.verb != "POST"
          ? ""
          : fmt::format(R"("requestBody":{{"content":{{"application/json":{{"schema":{}}}}}}},)",
                        reference_to(*method.descriptor->input_type()));
  const std::string suffix = number == 0 ? "" : std::to_string(number + 1);
  return fmt::format(
      R"({}:{{"operationId":"{}{}","parameters":[{}],{}"responses":{{"200":{{"description":"done",)"
      R"("content":{{"{}":{{"schema":{}}}}}}},"default":{{"description":"an error",)"
      R"("content":{{"application/json":{{"schema":{{"$ref":"#/components/schemas/Error"}}}}}}}}}}}})",
      in_quotes(route.verb == "POST"     ? "post"
                : route.verb == "DELETE" ? "delete"
                                         : "get"),
      method.name, suffix, parameters_of(method, route), body,
      streams ? "text/event-stream" : "application/json",
      reference_to(*method.descriptor->output_type()));
}

}  // namespace

std::string openapi(std::string_view version) {
  std::map<std::string, std::string> paths;
  std::map<std::string, const Descriptor*> messages;
  for (const Method& method : methods()) {
    collect(*method.descriptor->input_type(), messages);
    collect(*method.descriptor->output_type(), messages);
    for (std::size_t i = 0; i < method.routes.size(); ++i) {
      std::string& operations = paths[path_of(method.routes[i])];
      operations += (operations.empty() ? "" : ",") + operation(method, method.routes[i], i);
    }
  }
  std::string out =
      fmt::format(R"({{"openapi":"3.0.3","info":{{"title":"Berth","version":{}}},"paths":{{)",
                  in_quotes(version));
  const char* separator = "";
  for (const auto& [path, operations] : paths) {
    out += fmt::format("{}{}:{{{}}}", separator, in_quotes(path), operations);
    separator = ",";
  }
  out +=
      R"(},"components":{"schemas":{"Error":{"type":"object","properties":{"error":{"type":"object",)"
      R"("properties":{"code":{"type":"string"},"message":{"type":"string"}}}}})";
  for (const auto& [name, message] : messages) {
    out += fmt::format(",{}:{}", in_quotes(name), schema_of(*message));
  }
  return out + "}}}";
}

}  // namespace berth::controld::api
