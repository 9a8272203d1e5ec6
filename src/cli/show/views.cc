#include "cli/show/views.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "cli/show/figures.h"

namespace berth::cli {
namespace {

std::string major_of(v1::InstanceState state) {
  switch (state) {
    case v1::ACTIVATING: return "Activating";
    case v1::ACTIVE: return "Active";
    case v1::INACTIVE: return "Inactive";
    case v1::FAILED: return "Failed";
    case v1::PAUSED: return "Paused";
    default: return "Unknown";
  }
}

std::string capitalised(std::string word) {
  if (!word.empty() && word.front() >= 'a' && word.front() <= 'z') {
    word.front() = static_cast<char>(word.front() - 'a' + 'A');
  }
  return word;
}

std::string cpu_text(const v1::Usage& usage) { return human(Dmips(usage.cpu())); }
std::string ram_text(const v1::Usage& usage) { return human(Bytes(usage.ram())); }

Json usage_json(const v1::Usage& usage) { return {{"cpu", usage.cpu()}, {"ram", usage.ram()}}; }

Json traffic_json(const v1::Traffic& traffic) {
  return {{"received", traffic.received()}, {"sent", traffic.sent()}};
}

std::string share(std::int64_t part, std::int64_t whole) {
  return fmt::format("{}%", percent_of(part, whole));
}

std::string utc_time(std::int64_t time_ms) { return iso_date(std::chrono::milliseconds(time_ms)); }

std::string runtimes_of(const v1::Node& node) {
  std::vector<std::string> texts;
  for (const v1::Runtime& runtime : node.runtimes()) {
    const bool ready = same_word(runtime.ready(), "ready");
    texts.push_back(ready ? runtime.name()
                          : fmt::format("{}({})", runtime.name(), runtime.ready()));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

Tone tone_of_load_state(const v1::Load& load) {
  if (load.state() == "overloaded" || load.state() == "below") return Tone::Bad;
  return load.state() == "above" ? Tone::Warning : Tone::Plain;
}

// Of the condition Ready.
std::string ready_status(const v1::Node& node) {
  const auto& conditions = node.conditions();
  const auto ready = std::ranges::find(conditions, "Ready", &v1::Condition::type);
  return ready == conditions.end() ? "Unknown" : ready->status();
}

Tone ready_tone(const v1::Node& node) {
  return ready_status(node) == "True" ? Tone::Good : Tone::Bad;
}

std::string time_without_year(std::int64_t time_ms) { return local_time(time_ms).substr(5); }

// Whose three parts tell that it is an instance.
std::string about_without_kind(const v1::Event& event) {
  constexpr std::string_view kInstance = "instance/";
  const std::string& about = event.about();
  return about.starts_with(kInstance) ? about.substr(kInstance.size()) : about;
}

Json runtime_json(const v1::Runtime& runtime) {
  const std::int64_t since = runtime.not_ready_since_ms();
  return {{"name", runtime.name()},
          {"type", runtime.type()},
          {"kind", runtime.kind()},
          {"ready", runtime.ready()},
          {"graced", runtime.graced()},
          {"primary", runtime.primary()},
          {"reason", runtime.reason()},
          {"message", runtime.message()},
          {"notReadySince", since == 0 ? Json(nullptr) : Json(utc_time(since))},
          {"graceMs", runtime.grace_ms()},
          {"evicting", runtime.evicting()}};
}

Json condition_json(const v1::Condition& condition) {
  return {{"type", condition.type()},
          {"status", condition.status()},
          {"reason", condition.reason()},
          {"message", condition.message()},
          {"lastTransition", utc_time(condition.last_transition_ms())},
          {"lastHeartbeat", utc_time(condition.last_heartbeat_ms())}};
}

Json load_json(const v1::Load& load) {
  return {{"state", load.state()},
          {"forMs", load.for_ms()},
          {"min", load.min()},
          {"max", load.max()},
          {"timeoutMs", load.timeout_ms()}};
}

}  // namespace

std::string load_text(const v1::Node& node, Resource resource) {
  const bool cpu = resource == Resource::Cpu;
  const v1::Load& load = cpu ? node.cpu_load() : node.ram_load();
  const std::string used = !node.measured()
                               ? "-"
                               : (cpu ? share(node.used().cpu(), node.capacity().cpu())
                                      : share(node.used().ram(), node.capacity().ram()));
  if (load.state().empty() || load.state() == "normal") return used;
  const std::string since = short_duration(load.for_ms());
  if (load.state() == "above") return fmt::format("{} above max for {}", used, since);
  if (load.state() == "below") return fmt::format("{} below min for {}", used, since);
  return fmt::format("{} overloaded for {}", used, since);
}

std::string state_text(const v1::Instance& instance) {
  std::string text = major_of(instance.state());
  std::string reason = instance.problem().reason();
  if (instance.kept_for_ms() > 0) reason += " " + short_duration(instance.kept_for_ms());
  if (instance.has_moving_to()) {
    const std::string to = "MovingTo " + instance.moving_to().node();
    reason = reason.empty() ? to : reason + "," + to;
  }
  if (instance.unverified()) reason = reason.empty() ? "Unverified" : reason + ",Unverified";
  return reason.empty() ? text : fmt::format("{}({})", text, reason);
}

Tone tone_of(const v1::Instance& instance) {
  if (instance.state() == v1::FAILED) return Tone::Bad;
  if (instance.unverified()) return Tone::Warning;
  if (instance.state() == v1::ACTIVE) return Tone::Good;
  return instance.state() == v1::ACTIVATING ? Tone::Change : Tone::Dim;
}

std::string state_text(const v1::Node& node) {
  std::string text = capitalised(node.liveness().empty() ? "unknown" : node.liveness());
  if (node.silent_for_ms() > 0 && node.liveness() != "reachable") {
    text += fmt::format("({})", short_duration(node.silent_for_ms()));
  }
  if (!node.state().empty() && node.state() != "provisioned")
    text += "," + capitalised(node.state());
  if (node.draining()) {
    text += ",Draining";
  } else if (node.cordoned()) {
    text += ",Cordoned";
  }
  if (!node.store_problem().empty()) text += ",ReadOnly";
  return text;
}

Tone tone_of(const v1::Node& node) {
  if (node.liveness() == "lost" || node.state() == "error") return Tone::Bad;
  if (node.liveness() != "reachable" || node.cordoned() || node.draining() ||
      !node.store_problem().empty()) {
    return Tone::Warning;
  }
  return Tone::Good;
}

std::string instance_line(const v1::Instance& instance, const Style& style) {
  const std::string state = instance.gone() ? "Gone" : state_text(instance);
  const std::string where =
      instance.place().node().empty() ? "" : "  on " + instance.place().node();
  const std::string& message = instance.problem().message();
  return fmt::format("{}  {}{}{}\n", printable(name_of(instance)),
                     style.paint(printable(state), tone_of(instance)), printable(where),
                     message.empty() ? "" : "  " + printable(message));
}

std::string node_line(const v1::Node& node, const Style& style) {
  const std::string state = node.gone() ? "Gone" : state_text(node);
  return fmt::format("{}  {}  ready {}  {}  {}\n", printable(node.name()),
                     style.paint(printable(state), tone_of(node)),
                     style.paint(ready_status(node), ready_tone(node)), runtimes_of(node),
                     counted(node.instances(), "instance"));
}

std::string event_line(const v1::Event& event, const Style& style) {
  if (style.columns > 0) {
    // The kind of thing is in its name, and every line stands below the one before.
    Table table({{""}, {""}, {""}, {.head = "", .wraps = true}});
    table.add({{local_time(event.time_ms()), Tone::Dim, time_without_year(event.time_ms())},
               {event.kind()},
               {event.about(), Tone::Plain, about_without_kind(event)},
               {event.text()}});
    return table.render(style, 0);
  }
  return fmt::format("{}  {}  {}  {}\n", style.paint(local_time(event.time_ms()), Tone::Dim),
                     printable(event.kind()), printable(event.about()), printable(event.text()));
}

Table instances_table(const std::vector<v1::Instance>& instances, Detail detail) {
  const bool wide = detail == Detail::Wide;
  std::vector<Column> columns{{"INSTANCE"}, {"VERSION", Align::Left, 1}, {"STATE"}, {"NODE"}};
  if (wide)
    columns.insert(columns.end(), {{"RUNTIME"}, {"ADDRESS"}, {"TYPE"}, {"PRIORITY", Align::Right}});
  columns.push_back({"RESTARTS", Align::Right, 2});
  if (wide) {
    columns.insert(columns.end(), {{"EXIT", Align::Right},
                                   {"CPU", Align::Right},
                                   {"RAM", Align::Right},
                                   {"UID", Align::Right}});
  }
  columns.push_back({.head = "MESSAGE", .wraps = true});
  Table table(columns);
  for (const v1::Instance& instance : instances) {
    std::vector<Cell> row{{name_of(instance)},
                          {instance.version()},
                          {state_text(instance), tone_of(instance)},
                          {instance.place().node()}};
    if (wide) {
      row.push_back({instance.place().runtime()});
      row.push_back({instance.address()});
      row.push_back({instance.type()});
      row.push_back({std::to_string(instance.priority())});
    }
    row.push_back({std::to_string(instance.restarts())});
    if (wide) {
      row.push_back({instance.has_exit_code() ? std::to_string(instance.exit_code()) : ""});
      row.push_back({instance.has_usage() ? cpu_text(instance.usage()) : ""});
      row.push_back({instance.has_usage() ? ram_text(instance.usage()) : ""});
      row.push_back({instance.uid() == 0 ? "" : std::to_string(instance.uid())});
    }
    row.push_back({instance.problem().message(), Tone::Dim});
    table.add(std::move(row));
  }
  return table;
}

Table nodes_table(const std::vector<v1::Node>& nodes, Detail detail) {
  const bool wide = detail == Detail::Wide;
  std::vector<Column> columns{{"NODE"},
                              {"STATE"},
                              {"READY"},
                              {"RUNTIMES", Align::Left, 5},
                              {"INSTANCES", Align::Right},
                              {"CPU", Align::Right, 1},
                              {"RESERVED", Align::Right, 3},
                              {"RAM", Align::Right, 2},
                              {"RESERVED", Align::Right, 4},
                              {"TYPE", Align::Left, 6}};
  if (wide) {
    columns.insert(columns.end(),
                   {{"CPU LOAD"}, {"RAM LOAD"}, {"PRIORITY", Align::Right}, {"LABELS"}});
  }
  Table table(columns);
  for (const v1::Node& node : nodes) {
    std::vector<Cell> row{{node.name()},
                          {state_text(node), tone_of(node)},
                          {ready_status(node), ready_tone(node)},
                          {runtimes_of(node)},
                          {std::to_string(node.instances())},
                          {cpu_text(node.capacity())},
                          {share(node.reserved().cpu(), node.capacity().cpu())},
                          {ram_text(node.capacity())},
                          {share(node.reserved().ram(), node.capacity().ram())},
                          {node.type()}};
    if (wide) {
      row.push_back({load_text(node, Resource::Cpu), tone_of_load_state(node.cpu_load())});
      row.push_back({load_text(node, Resource::Ram), tone_of_load_state(node.ram_load())});
      row.push_back({std::to_string(node.priority())});
      row.push_back({fmt::format("{}", fmt::join(node.labels(), ","))});
    }
    table.add(std::move(row));
  }
  return table;
}

Table events_table(const std::vector<v1::Event>& events) {
  Table table({{"TIME"}, {"KIND"}, {"ABOUT"}, {.head = "WHAT", .wraps = true}});
  for (const v1::Event& event : events) {
    table.add({{local_time(event.time_ms()), Tone::Dim, time_without_year(event.time_ms())},
               {event.kind()},
               {event.about(), Tone::Plain, about_without_kind(event)},
               {event.text()}});
  }
  return table;
}

Json json_of(const v1::Instance& instance) {
  Json json{
      {"item", instance.key().item()},
      {"subject", instance.key().subject()},
      {"index", instance.key().index()},
      {"version", instance.version()},
      {"type", instance.type()},
      {"state", major_of(instance.state())},
      {"reason", instance.problem().reason()},
      {"message", instance.problem().message()},
      {"node", instance.place().node()},
      {"runtime", instance.place().runtime()},
      {"movingTo", instance.moving_to().node()},
      {"unverified", instance.unverified()},
      {"proven", instance.proven()},
      {"away", instance.away()},
      {"since", instance.since_ms() == 0 ? Json(nullptr) : Json(utc_time(instance.since_ms()))},
      {"restarts", instance.restarts()},
      {"exitCode", nullptr},
      {"priority", instance.priority()},
      {"uid", instance.uid()},
      {"gid", instance.gid()},
      {"address", instance.address()},
      {"names", std::vector<std::string>(instance.names().begin(), instance.names().end())},
      {"usage", usage_json(instance.usage())},
      {"storage", instance.footprint().storage()},
      {"stateSize", instance.footprint().state()},
      {"stateGeneration", instance.state_generation()},
      {"traffic", traffic_json(instance.footprint().traffic())},
      {"toBePaused", instance.to_be_paused()}};
  if (instance.has_exit_code()) json["exitCode"] = instance.exit_code();
  if (instance.gone()) json["gone"] = true;
  if (instance.cached()) json["keptForMs"] = instance.kept_for_ms();
  return json;
}

Json json_of(const v1::Node& node) {
  Json json{{"node", node.name()},
            {"type", node.type()},
            {"state", node.state()},
            {"liveness", node.liveness()},
            {"silentForMs", node.silent_for_ms()},
            {"cordoned", node.cordoned()},
            {"draining", node.draining()},
            {"capacity", usage_json(node.capacity())},
            {"reserved", usage_json(node.reserved())},
            {"used", nullptr},
            {"labels", Json::array()},
            {"priority", node.priority()},
            {"instances", node.instances()},
            {"ready", ready_status(node)},
            {"conditions", Json::array()},
            {"runtimes", Json::array()},
            {"traffic", traffic_json(node.traffic())},
            {"partitions", Json::array()},
            {"remarks", Json::array()},
            {"storeProblem", node.store_problem()}};
  if (node.measured()) json["used"] = usage_json(node.used());
  if (node.has_cpu_load()) json["cpuLoad"] = load_json(node.cpu_load());
  if (node.has_ram_load()) json["ramLoad"] = load_json(node.ram_load());
  for (const v1::PartitionUsage& partition : node.partitions()) {
    json["partitions"].push_back(
        {{"name", partition.name()}, {"size", partition.size()}, {"used", partition.used()}});
  }
  for (const std::string& remark : node.remarks()) json["remarks"].push_back(remark);
  for (const std::string& label : node.labels()) json["labels"].push_back(label);
  for (const v1::Runtime& runtime : node.runtimes()) {
    json["runtimes"].push_back(runtime_json(runtime));
  }
  for (const v1::Condition& condition : node.conditions()) {
    json["conditions"].push_back(condition_json(condition));
  }
  if (node.gone()) json["gone"] = true;
  return json;
}

Json json_of(const v1::Event& event) {
  return {{"number", event.number()},
          {"time", utc_time(event.time_ms())},
          {"kind", event.kind()},
          {"about", event.about()},
          {"text", event.text()}};
}

std::string count_of_states(const std::vector<v1::Instance>& instances) {
  std::map<v1::InstanceState, std::uint64_t> counts;
  for (const v1::Instance& instance : instances) ++counts[instance.state()];
  std::vector<std::string> texts;
  constexpr std::pair<v1::InstanceState, const char*> kOrder[] = {
      {v1::ACTIVE, "active"},         {v1::PAUSED, "paused"},
      {v1::ACTIVATING, "activating"}, {v1::INACTIVE, "inactive"},
      {v1::FAILED, "failed"},         {v1::INSTANCE_STATE_UNSPECIFIED, "unknown"}};
  for (const auto& [state, word] : kOrder) {
    if (counts[state] > 0) texts.push_back(fmt::format("{} {}", counts[state], word));
  }
  return texts.empty() ? "nothing runs" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string short_duration(std::int64_t ms) {
  const std::int64_t seconds = ms / 1000;
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{}m", seconds / 60);
  return fmt::format("{}h", seconds / 3600);
}

std::string local_time(std::int64_t time_ms) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time_t{time_ms / 1000}));
}

}  // namespace berth::cli
