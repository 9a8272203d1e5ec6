#include "cli/ask/condition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/suggest.h"
#include "cli/show/json_text.h"
#include "cli/show/table.h"
#include "cli/show/views.h"
#include "codec/instance_name.h"

namespace berth::cli {
namespace {

const std::vector<std::string>& values_of(Kind kind) {
  static const std::vector<std::string> of_nodes{
      "reachable", "unreachable", "lost",        "unknown", "ready",
      "notready",  "cordoned",    "schedulable", "empty",   "gone"};
  static const std::vector<std::string> of_others{"active", "activating", "inactive",
                                                  "failed", "paused",     "gone"};
  return kind == Kind::Node ? of_nodes : of_others;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Active is what has shown that it is.
bool is_in_state(const v1::Instance& instance, const std::string& value) {
  const bool is_so = same_word(v1::InstanceState_Name(instance.state()), value);
  return is_so && !instance.unverified() && (instance.state() != v1::ACTIVE || instance.proven());
}

// A deployment is as it shall be also where something has done its work.
bool is_well(const v1::Instance& instance, const std::string& value) {
  const bool is_done = instance.state() == v1::INACTIVE && instance.proven();
  return is_in_state(instance, value) || (value == "active" && is_done);
}

const v1::Instance* instance_named(const Mirror& mirror, const std::string& name) {
  std::set<model::InstanceKey> known;
  for (const auto& [key, instance] : mirror.instances) known.insert(key);
  const auto key = codec::find_instance(name, known);
  return key ? &mirror.instances.at(*key) : nullptr;
}

bool is_ready(const v1::Node& node) {
  for (const v1::Condition& condition : node.conditions()) {
    if (condition.type() == "Ready") return condition.status() == "True";
  }
  return false;
}

bool holds_for(const v1::Node* node, const std::string& value) {
  if (value == "gone") return node == nullptr;
  if (node == nullptr) return false;
  if (value == "cordoned") return node->cordoned() || node->draining();
  if (value == "schedulable") {
    return node->liveness() == "reachable" && !node->cordoned() && !node->draining() &&
           node->store_problem().empty();
  }
  if (value == "empty") return node->services() == 0;
  if (value == "ready") return is_ready(*node);
  if (value == "notready") return !is_ready(*node);
  return same_word(node->liveness(), value);
}

const v1::Node* node_named(const Mirror& mirror, const std::string& name) {
  const auto found = mirror.nodes.find(name);
  return found == mirror.nodes.end() ? nullptr : &found->second;
}

std::vector<const v1::Instance*> instances_of(const Run& run, const Mirror& mirror) {
  std::vector<const v1::Instance*> instances;
  auto it = mirror.instances.lower_bound({run.item, run.subject, 0});
  for (; it != mirror.instances.end() && it->first.item == run.item &&
         it->first.subject == run.subject;
       ++it) {
    instances.push_back(&it->second);
  }
  return instances;
}

bool holds_for(const Run& run, const Mirror& mirror, const std::string& value) {
  const auto instances = instances_of(run, mirror);
  if (value == "gone") return instances.empty();
  if (instances.size() < run.count.value_or(0)) return false;
  return std::ranges::all_of(instances, [&](const auto* one) { return is_well(*one, value); });
}

// Only what somebody could wait for who does not want it to go.
bool is_away(const v1::Instance& instance, const std::string& value) {
  return instance.away() && value != "gone";
}

std::string state_of(const v1::Instance& instance) {
  std::string text = name_of(instance) + " is " + state_text(instance);
  if (!instance.place().node().empty()) text += " on " + instance.place().node();
  if (instance.since_ms() > 0) text += " since " + local_time(instance.since_ms());
  if (instance.away()) return text + "; its node is away";
  const bool is_watched = instance.state() == v1::ACTIVE && !instance.proven();
  return is_watched ? text + ", and has yet to show that it stays so" : text;
}

}  // namespace

Result<Condition> parse_condition(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::size_t equals = text.rfind('=');
  if (slash == std::string_view::npos || equals == std::string_view::npos || equals < slash + 2) {
    return invalid_input(
        fmt::format("\"{}\" is no condition: KIND/NAME=STATE is wanted, like instance/web=active",
                    printable(text)));
  }
  const Kind kind = TRY(parse_kind(text.substr(0, slash)));
  Condition condition{kind, std::string(text.substr(slash + 1, equals - slash - 1)),
                      lower(text.substr(equals + 1))};
  if (condition.kind != Kind::Instance && condition.kind != Kind::Node &&
      condition.kind != Kind::Deployment) {
    return invalid_input(fmt::format(
        "{} have no state: wait for an instance, a node or a deployment", plural(condition.kind)));
  }
  const auto& values = values_of(condition.kind);
  if (std::ranges::find(values, condition.value) != values.end()) return condition;
  return invalid_input(fmt::format("\"{}\" is no state of a {} ({}).{}", printable(condition.value),
                                   singular(condition.kind), fmt::join(values, ", "),
                                   did_you_mean(condition.value, values)));
}

std::string to_string(const Condition& condition) {
  return fmt::format("{}/{}={}", singular(condition.kind), condition.name, condition.value);
}

std::vector<Run> runs_of(const google::protobuf::Struct& deployment) {
  std::vector<Run> runs;
  const Json spec = json_of(deployment).value("spec", Json::object());
  for (const Json& entry : spec.value("run", Json::array())) {
    Run run{model::ItemId(entry.value("item", std::string())),
            model::SubjectId(entry.value("subject", std::string("default"))), 1};
    if (entry.contains("instances")) {
      const Json& count = entry["instances"];
      run.count = count.is_number() ? std::optional(count.get<std::uint32_t>()) : std::nullopt;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

bool holds(const Condition& condition, const Mirror& mirror, const std::vector<Run>& runs) {
  if (condition.kind == Kind::Node) {
    return holds_for(node_named(mirror, condition.name), condition.value);
  }
  if (condition.kind == Kind::Deployment) {
    return std::ranges::all_of(
        runs, [&](const Run& run) { return holds_for(run, mirror, condition.value); });
  }
  const v1::Instance* instance = instance_named(mirror, condition.name);
  if (condition.value == "gone") return instance == nullptr;
  return instance != nullptr && is_in_state(*instance, condition.value);
}

bool waits_only_for_nodes_that_are_away(const Condition& condition, const Mirror& mirror,
                                        const std::vector<Run>& runs) {
  if (condition.kind == Kind::Node) return false;
  if (condition.kind == Kind::Instance) {
    const v1::Instance* instance = instance_named(mirror, condition.name);
    return instance != nullptr && is_away(*instance, condition.value);
  }
  return std::ranges::all_of(runs, [&](const Run& run) {
    const auto instances = instances_of(run, mirror);
    return instances.size() >= run.count.value_or(0) &&
           std::ranges::all_of(instances, [&](const v1::Instance* one) {
             return is_well(*one, condition.value) || is_away(*one, condition.value);
           });
  });
}

std::string state_instead(const Condition& condition, const Mirror& mirror,
                          const std::vector<Run>& runs) {
  if (condition.kind == Kind::Node) {
    const v1::Node* node = node_named(mirror, condition.name);
    return node == nullptr ? "there is no such node" : "it is " + state_text(*node);
  }
  if (condition.kind == Kind::Instance) {
    const v1::Instance* instance = instance_named(mirror, condition.name);
    return instance == nullptr ? "there is no such instance" : state_of(*instance);
  }
  for (const Run& run : runs) {
    const auto instances = instances_of(run, mirror);
    for (const v1::Instance* instance : instances) {
      if (!is_well(*instance, condition.value)) return state_of(*instance);
    }
    if (instances.size() < run.count.value_or(0)) {
      return fmt::format("there are {} of {} instances of {}", instances.size(), *run.count,
                         run.item.value());
    }
  }
  return "it holds";
}

}  // namespace berth::cli
