#include "codec/plan_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "codec/text.h"

namespace berth::codec {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const model::InstanceKey& key) {
  return {{"item", key.item.value()}, {"subject", key.subject.value()}, {"index", key.index}};
}

Json json_of(const model::Place& place) {
  return {{"node", place.node.value()}, {"runtime", place.runtime.value()}};
}

Json json_of(const placement::Placement& placement) {
  Json json = json_of(placement.key);
  json["version"] = placement.version;
  json.update(json_of(placement.place));
  json["image"] = placement.image;
  json["action"] = model::to_string(placement.action);
  if (placement.from) json["from"] = json_of(*placement.from);
  if (placement.leaves_storage) json["leavesStorage"] = true;
  return json;
}

Json json_of(const placement::NodeVerdict& verdict) {
  Json json{{"node", verdict.node.value()}};
  if (verdict.reason) json["reason"] = model::to_string(*verdict.reason);
  if (verdict.asked) json["asked"] = *verdict.asked;
  if (verdict.has) json["has"] = *verdict.has;
  if (verdict.reason == placement::Reason::RuntimeNotReady) {
    json["runtime"] = verdict.runtime.value();
    if (verdict.readiness) json["state"] = model::to_string(*verdict.readiness);
  }
  return json;
}

Json json_of(const placement::Refusal& refusal) {
  Json json = json_of(refusal.key);
  json["version"] = refusal.version;
  json["reason"] = model::to_string(refusal.reason);
  Json& nodes = json["nodes"] = Json::array();
  for (const placement::NodeVerdict& verdict : refusal.nodes) nodes.push_back(json_of(verdict));
  json["hint"] = refusal.hint;
  return json;
}

Json json_of(const placement::Stop& stop) {
  Json json = json_of(stop.key);
  json["version"] = stop.version;
  json.update(json_of(stop.place));
  return json;
}

template <class Q>
Json figures(Q capacity, Q reserved, Q available) {
  return {{"capacity", capacity.count()},
          {"reserved", reserved.count()},
          {"available", available.count()}};
}

Json json_of(const placement::NodeLoad& load) {
  return {{"node", load.node.value()},
          {"cpu", figures(load.capacity.cpu, load.reserved.cpu, load.available.cpu)},
          {"ram", figures(load.capacity.ram, load.reserved.ram, load.available.ram)}};
}

// Scalars look the same in JSON and YAML, but for text.
std::string scalar_text(const Json& json) {
  if (!json.is_string()) return json.dump();
  std::string out;
  append_json_string(out, json.get_ref<const std::string&>());
  return out;
}

// One line, with the spaces that make it readable; dump() has none.
void append_line(std::string& out, const Json& json) {
  if (!json.is_structured()) {
    out += scalar_text(json);
    return;
  }
  out += json.is_object() ? '{' : '[';
  std::string_view separator;
  for (const auto& [key, value] : json.items()) {
    out += separator;
    if (json.is_object()) {
      append_json_string(out, key);
      out += ": ";
    }
    append_line(out, value);
    separator = ", ";
  }
  out += json.is_object() ? '}' : ']';
}

template <class T>
void append_list(std::string& out, std::string_view name, const std::vector<T>& entries) {
  out += ",\n \"";
  out += name;
  out += "\": [";
  std::string_view separator = "\n  ";
  for (const T& entry : entries) {
    out += separator;
    append_line(out, json_of(entry));
    separator = ",\n  ";
  }
  out += entries.empty() ? "]" : "\n ]";
}

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
  if (json.is_string() && is_plain(json.get_ref<const std::string&>()))
    return json.get<std::string>();
  return scalar_text(json);
}

// Appends what stands after "key:" or "-"; `indent` is where that key or dash stands.
void append_yaml(std::string& out, const Json& json, std::size_t indent);

void append_yaml_map(std::string& out, const Json& map, std::size_t indent) {
  bool first = true;
  for (const auto& [key, value] : map.items()) {
    if (!first) out.append(indent, ' ');
    first = false;
    out += key;
    out += ':';
    append_yaml(out, value, indent);
  }
}

void append_yaml(std::string& out, const Json& json, std::size_t indent) {
  if (!json.is_structured()) {
    out += ' ' + yaml_scalar(json) + '\n';
  } else if (json.empty()) {
    out += json.is_array() ? " []\n" : " {}\n";
  } else if (json.is_object()) {
    out += '\n';
    out.append(indent + 2, ' ');
    append_yaml_map(out, json, indent + 2);
  } else {
    out += '\n';
    for (const Json& entry : json) {
      out.append(indent, ' ');
      out += "- ";
      append_yaml_map(out, entry, indent + 2);
    }
  }
}

template <class T>
void append_yaml_list(std::string& out, std::string_view name, const std::vector<T>& entries) {
  Json list = Json::array();
  for (const T& entry : entries) list.push_back(json_of(entry));
  out += name;
  out += ':';
  append_yaml(out, list, 0);
}

template <class Entries>
auto entry_of(const Entries& entries, const model::InstanceKey& key) {
  const auto same = [&](const auto& entry) { return entry.key == key; };
  return std::ranges::find_if(entries, same);
}

Json explained(const placement::NodeVerdict& verdict) {
  Json json = json_of(verdict);
  if (!verdict.detail.empty()) json["detail"] = verdict.detail;
  return json;
}

Json json_of(const placement::Plan& plan, const placement::Explanation& explanation) {
  const auto placed = entry_of(plan.placements, explanation.key);
  const auto refused = entry_of(plan.refused, explanation.key);
  const bool is_refused = refused != plan.refused.end();
  Json json = json_of(explanation.key);
  json["summary"] = explanation.summary;
  if (placed != plan.placements.end()) json["placement"] = json_of(*placed);
  if (is_refused) json["reason"] = model::to_string(refused->reason);
  Json& nodes = json["nodes"] = Json::array();
  for (const placement::NodeVerdict& verdict : explanation.nodes) {
    nodes.push_back(explained(verdict));
  }
  if (is_refused) json["hint"] = refused->hint;
  return json;
}

}  // namespace

std::string plan_to_json(const placement::Plan& plan, std::uint64_t revision) {
  std::string out = "{\"revision\": " + std::to_string(revision);
  append_list(out, "placements", plan.placements);
  append_list(out, "refused", plan.refused);
  append_list(out, "stops", plan.stops);
  append_list(out, "nodes", plan.nodes);
  out += "}\n";
  return out;
}

std::string plan_to_yaml(const placement::Plan& plan, std::uint64_t revision) {
  std::string out = "revision: " + std::to_string(revision) + "\n";
  append_yaml_list(out, "placements", plan.placements);
  append_yaml_list(out, "refused", plan.refused);
  append_yaml_list(out, "stops", plan.stops);
  append_yaml_list(out, "nodes", plan.nodes);
  return out;
}

std::string explanation_to_json(const placement::Plan& plan,
                                const placement::Explanation& explanation) {
  return json_of(plan, explanation).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string explanation_to_yaml(const placement::Plan& plan,
                                const placement::Explanation& explanation) {
  std::string out;
  append_yaml_map(out, json_of(plan, explanation), 0);
  return out;
}

}  // namespace berth::codec
