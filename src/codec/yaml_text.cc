#include "codec/yaml_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "codec/text.h"

namespace berth::codec {
namespace {

using Json = nlohmann::ordered_json;

// Text that no YAML reader can take for anything else needs no quotes.
bool is_plain(std::string_view text) {
  constexpr std::string_view kWords[] = {"true", "false", "yes", "no", "on",
                                         "off",  "null",  "y",   "n"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_safe = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/';
  };
  if (text.empty() || !is_letter(text.front()) || !std::ranges::all_of(text, is_safe)) return false;
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::ranges::find(kWords, lower) == std::end(kWords);
}

std::string yaml_scalar(const Json& json) {
  const auto* text = json.get_ptr<const std::string*>();
  return text != nullptr && is_plain(*text) ? *text : scalar_text(json);
}

void append_yaml(std::string& out, const Json& json, std::size_t indent);

// The entries of a map; the first stands where the writer is already.
void append_map(std::string& out, const Json& map, std::size_t indent) {
  bool first = true;
  for (const auto& [key, value] : map.items()) {
    if (!first) out.append(indent, ' ');
    first = false;
    out += yaml_scalar(key) + ":";
    append_yaml(out, value, indent);
  }
}

void append_list(std::string& out, const Json& list, std::size_t indent) {
  for (const Json& entry : list) {
    out.append(indent, ' ');
    out += '-';
    if (entry.is_object() && !entry.empty()) {
      out += ' ';
      append_map(out, entry, indent + 2);
    } else {
      append_yaml(out, entry, indent + 2);
    }
  }
}

// What stands after "key:" or "-"; `indent` is where that key or dash stands.
void append_yaml(std::string& out, const Json& json, std::size_t indent) {
  if (!json.is_structured()) {
    out += ' ' + yaml_scalar(json) + '\n';
  } else if (json.empty()) {
    out += json.is_array() ? " []\n" : " {}\n";
  } else if (json.is_object()) {
    out += '\n';
    out.append(indent + 2, ' ');
    append_map(out, json, indent + 2);
  } else {
    out += '\n';
    append_list(out, json, indent);
  }
}

}  // namespace

std::string scalar_text(const Json& json) {
  if (!json.is_string()) return json.dump();
  std::string out;
  append_json_string(out, json.get_ref<const std::string&>());
  return out;
}

std::string yaml_text(const Json& json) {
  std::string out;
  if (json.is_object() && !json.empty()) {
    append_map(out, json, 0);
  } else if (json.is_array() && !json.empty()) {
    append_list(out, json, 0);
  } else {
    append_yaml(out, json, 0);
    out.erase(0, 1);
  }
  return out;
}

}  // namespace berth::codec
