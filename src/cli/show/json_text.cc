#include "cli/show/json_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace berth::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// What people write first comes first; the rest follows by name.
std::size_t rank_of(std::string_view key) {
  constexpr std::string_view kFirst[] = {"apiVersion", "kind", "metadata", "spec",
                                         "name",       "item", "version",  "type"};
  return static_cast<std::size_t>(std::ranges::find(kFirst, key) - std::begin(kFirst));
}

Json number_of(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: up to there a double counts every one
  if (std::trunc(number) == number && std::fabs(number) <= kExact) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

Json json_of_value(const Value& value) {
  switch (value.kind_case()) {
    case Value::kBoolValue: return value.bool_value();
    case Value::kNumberValue: return number_of(value.number_value());
    case Value::kStringValue: return value.string_value();
    case Value::kStructValue: return json_of(value.struct_value());
    case Value::kListValue: {
      Json list = Json::array();
      for (const Value& entry : value.list_value().values()) list.push_back(json_of_value(entry));
      return list;
    }
    case Value::kNullValue:
    case Value::KIND_NOT_SET: return nullptr;
  }
  return nullptr;
}

}  // namespace

Json json_of(const Struct& object) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : object.fields()) keys.push_back(key);
  std::ranges::sort(keys, {}, [](std::string_view key) { return std::pair(rank_of(key), key); });
  Json json = Json::object();
  for (const std::string_view key : keys) {
    json[std::string(key)] = json_of_value(object.fields().at(std::string(key)));
  }
  return json;
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace berth::cli
