#include "codec/plan_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/date.h"
#include "codec/text.h"
#include "codec/yaml_text.h"
#include "placement/relief_text.h"
#include "placement/verdict.h"

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
  if (placement.leaves_state) json["leavesState"] = true;
  return json;
}

std::vector<Json> placements_in(const placement::Plan& plan,
                                const placement::Downtimes& downtimes) {
  std::vector<Json> list;
  for (const placement::Placement& placement : plan.placements) {
    list.push_back(json_of(placement));
    const auto downtime = downtimes.find(placement.key);
    if (downtime != downtimes.end()) list.back()["downtime"] = to_string(downtime->second);
  }
  return list;
}

const Json& json_of(const Json& json) { return json; }

Json json_of(const placement::NodeVerdict& verdict) {
  Json json{{"node", verdict.node.value()}};
  if (verdict.reason) json["reason"] = model::to_string(*verdict.reason);
  if (verdict.asked) json["asked"] = *verdict.asked;
  if (verdict.has) json["has"] = *verdict.has;
  if (verdict.reason == placement::Reason::RuntimeNotReady) {
    json["runtime"] = verdict.runtime.value();
    if (verdict.readiness) json["state"] = model::to_string(*verdict.readiness);
    if (verdict.not_ready_since) json["since"] = iso_date(*verdict.not_ready_since);
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

Json json_of(const model::Usage& usage) {
  return {{"cpu", usage.cpu.count()}, {"ram", usage.ram.count()}};
}

Json json_of(const placement::Relief& relief) {
  Json json{{"node", relief.node.value()},
            {"overloaded", {{"cpu", relief.overloaded.cpu}, {"ram", relief.overloaded.ram}}},
            {"capacity", json_of(relief.capacity)},
            {"before", json_of(relief.before)},
            {"planned", json_of(relief.planned)},
            {"goal", json_of(relief.goal)},
            {"leaving", relief.leaving.size()}};
  if (!relief.unrelieved) return json;
  json["reason"] = model::to_string(*relief.unrelieved);
  json["message"] = placement::why_text(relief);
  return json;
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

template <class T>
Json list_of(const std::vector<T>& entries) {
  Json list = Json::array();
  for (const T& entry : entries) list.push_back(json_of(entry));
  return list;
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

Json list_of_explained(const std::vector<placement::NodeVerdict>& verdicts) {
  Json list = Json::array();
  for (const placement::NodeVerdict& verdict : verdicts) list.push_back(explained(verdict));
  return list;
}

// Whether the plan leaves it as it was decided: at its place, or refused for the same reason and
// with the same way out. What was not refused by the nodes, a plan knows nothing of.
bool stands(const placement::Plan& plan, const model::DecisionRecord& decision) {
  const auto refused = entry_of(plan.refused, decision.key);
  const bool is_refused = refused != plan.refused.end();
  if (decision.reason) {
    return is_refused && refused->reason == *decision.reason && refused->hint == decision.hint;
  }
  if (!decision.place) return true;
  const auto placed = entry_of(plan.placements, decision.key);
  if (placed != plan.placements.end()) return placed->place == *decision.place;
  return !is_refused && entry_of(plan.stops, decision.key) == plan.stops.end();
}

Json json_of(const placement::Plan& plan, const model::DecisionRecord& decision) {
  const model::NodeId* chosen = decision.place ? &decision.place->node : nullptr;
  std::vector<placement::NodeVerdict> verdicts;
  for (const model::NodeAnswer& answer : decision.answers.nodes()) {
    verdicts.push_back(placement::verdict_of(answer, chosen));
  }
  Json json{{"revision", decision.revision},
            {"kind", model::to_string(decision.kind)},
            {"summary", model::to_string(decision)}};
  if (!decision.because.empty()) json["because"] = decision.because;
  if (decision.place) json["placement"] = json_of(*decision.place);
  if (decision.reason) json["reason"] = model::to_string(*decision.reason);
  json["nodes"] = list_of_explained(verdicts);
  json["leftOut"] = decision.answers.left_out;
  if (!decision.place) json["hint"] = decision.hint;
  json["stands"] = stands(plan, decision);
  return json;
}

Json now_of(const placement::Plan& plan, const placement::Explanation& explanation) {
  const auto placed = entry_of(plan.placements, explanation.key);
  const auto refused = entry_of(plan.refused, explanation.key);
  const bool is_refused = refused != plan.refused.end();
  Json json{{"summary", explanation.summary}};
  if (placed != plan.placements.end()) json["placement"] = json_of(*placed);
  if (is_refused) json["reason"] = model::to_string(refused->reason);
  json["nodes"] = list_of_explained(explanation.nodes);
  if (is_refused) json["hint"] = refused->hint;
  return json;
}

Json json_of(const placement::Plan& plan, const placement::Explanation& explanation,
             const model::DecisionRecord* decision) {
  Json json = json_of(explanation.key);
  if (decision != nullptr) json["decision"] = json_of(plan, *decision);
  json["now"] = now_of(plan, explanation);
  return json;
}

}  // namespace

std::string plan_to_json(const placement::Plan& plan, std::uint64_t revision,
                         const placement::Downtimes& downtimes) {
  std::string out = "{\"revision\": " + std::to_string(revision);
  append_list(out, "placements", placements_in(plan, downtimes));
  append_list(out, "refused", plan.refused);
  append_list(out, "stops", plan.stops);
  append_list(out, "nodes", plan.nodes);
  if (!plan.relief.empty()) append_list(out, "relief", plan.relief);
  out += "}\n";
  return out;
}

std::string plan_to_yaml(const placement::Plan& plan, std::uint64_t revision,
                         const placement::Downtimes& downtimes) {
  Json json{{"revision", revision},
            {"placements", list_of(placements_in(plan, downtimes))},
            {"refused", list_of(plan.refused)},
            {"stops", list_of(plan.stops)},
            {"nodes", list_of(plan.nodes)}};
  if (!plan.relief.empty()) json["relief"] = list_of(plan.relief);
  return yaml_text(json);
}

std::string explanation_to_json(const placement::Plan& plan,
                                const placement::Explanation& explanation,
                                const model::DecisionRecord* decision) {
  return json_of(plan, explanation, decision).dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace berth::codec
