#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/sessions.h"
#include "cli/flags.h"
#include "cli/show/document_views.h"
#include "cli/show/figures.h"
#include "cli/show/session_views.h"
#include "cli/show/views.h"
#include "cli/verbs/verb.h"

// `berth describe`: all about one thing, and what happened to it.
namespace berth::cli {
namespace {

using google::protobuf::Struct;

constexpr const char* kDescribeExamples =
    "Examples:\n"
    "  berth describe instance web/vehicle/0\n"
    "  berth describe node n1\n"
    "  berth describe item web@1.0.0\n"
    "  berth describe deployment base\n"
    "  berth describe application games/echo     with its pool and instances\n"
    "  berth describe session games/blue\n"
    "\n"
    "The last part is the events of the thing, newest last.\n"
    "Exit codes: 0 done, 3 invalid input, 4 no such thing, 6 cannot reach the control plane.";

constexpr std::uint32_t kEventsShown = 30;

struct DescribeFlags {
  ConnectionFlags connection;
  std::string kind;
  std::string name;
};

// "Name:  value" lines, without those that say nothing.
class Facts {
 public:
  void add(std::string name, std::string value, Tone tone = Tone::Plain) {
    if (!value.empty()) table_.add({{name + ":", Tone::Dim}, {std::move(value), tone}});
  }
  std::string render(const Style& style, std::size_t indent = 0) const {
    return table_.render(style, indent);
  }

 private:
  Table table_{{{""}, {.head = "", .wraps = true}}};
};

std::string section(std::string_view title, const Table& table, const Style& style) {
  if (table.empty()) return "";
  return fmt::format("\n{}\n{}", style.paint(title, Tone::Strong), table.render(style, 2));
}

Result<std::string> events_section(const client::Client& client,
                                   const std::vector<std::string>& about, const Style& style) {
  std::vector<v1::Event> events;
  for (const std::string& name : about) {
    const v1::Events some = TRY(list_events(client, {.about = name, .limit = kEventsShown}));
    events.insert(events.end(), some.events().begin(), some.events().end());
  }
  std::ranges::stable_sort(events, {}, &v1::Event::number);
  if (events.size() > kEventsShown) events.erase(events.begin(), events.end() - kEventsShown);
  const std::string none = fmt::format("\n{}\n  none\n", style.paint("Events", Tone::Strong));
  return events.empty() ? none : section("Events", events_table(events), style);
}

std::string usage_text(const v1::Usage& usage) {
  return human(Dmips(usage.cpu())) + ", " + human(Bytes(usage.ram()));
}

// Nothing if nothing was measured, or nothing came and went.
std::string traffic_text(const v1::Traffic& traffic) {
  if (traffic.received() == 0 && traffic.sent() == 0) return "";
  return fmt::format("receives {}/s, sends {}/s", human(Bytes(traffic.received())),
                     human(Bytes(traffic.sent())));
}

Result<std::string> describe_instance(const client::Client& client, const std::string& name,
                                      const Style& style) {
  const v1::Instances all = TRY(list_instances(client, {.all = true}));
  const v1::Instance& instance = *TRY(pick_instance(all, name));
  Facts facts;
  facts.add("Instance", name_of(instance), Tone::Strong);
  facts.add("Version", instance.version());
  facts.add("Type", instance.type());
  facts.add("State", state_text(instance), tone_of(instance));
  facts.add("Message", instance.problem().message());
  if (instance.to_be_paused() && instance.state() != v1::PAUSED) {
    facts.add("To be paused", "as soon as it is active");
  }
  if (instance.unverified()) facts.add("Unverified", "its node cannot vouch for it at present");
  facts.add("Node", instance.place().node());
  facts.add("Runtime", instance.place().runtime());
  facts.add("Moving to", instance.moving_to().node());
  facts.add("Address", instance.address());
  facts.add("Names", fmt::format("{}", fmt::join(instance.names(), ", ")));
  facts.add("Last decision", instance.decision());
  facts.add("Priority", std::to_string(instance.priority()));
  facts.add("Restarts", std::to_string(instance.restarts()));
  if (instance.has_exit_code()) facts.add("Last exit code", std::to_string(instance.exit_code()));
  if (instance.has_usage()) facts.add("Uses", usage_text(instance.usage()));
  if (instance.has_footprint()) {
    facts.add("Has on disk", fmt::format("{} in storage, {} in state",
                                         human(Bytes(instance.footprint().storage())),
                                         human(Bytes(instance.footprint().state()))));
    facts.add("Traffic", traffic_text(instance.footprint().traffic()));
  }
  if (instance.state_generation() > 0) {
    facts.add("State kept", fmt::format("generation {}", instance.state_generation()));
  }
  if (instance.uid() != 0) {
    facts.add("User and group", fmt::format("{}:{}", instance.uid(), instance.gid()));
  }
  return facts.render(style) +
         TRY(events_section(client, {"instance/" + name_of(instance)}, style));
}

std::string why_not_ready(const v1::Runtime& runtime) {
  std::string text = runtime.reason();
  if (!runtime.message().empty()) text += (text.empty() ? "" : ": ") + runtime.message();
  if (runtime.not_ready_since_ms() != 0) {
    text += fmt::format("{}since {}", text.empty() ? "" : ", ",
                        local_time(runtime.not_ready_since_ms()));
  }
  if (runtime.evicting()) text += "; what runs there goes elsewhere";
  return text;
}

Table runtimes_table(const v1::Node& node) {
  Table table({{"RUNTIME"},
               {"TYPE", Align::Left, 3},
               {"KIND", Align::Left, 2},
               {"NOW"},
               {"LASTING", Align::Left, 1},
               {""},
               {.head = "MESSAGE", .wraps = true}});
  const auto tone = [](const std::string& readiness) {
    return same_word(readiness, "ready") ? Tone::Good : Tone::Bad;
  };
  for (const v1::Runtime& runtime : node.runtimes()) {
    table.add({{runtime.name()},
               {runtime.type()},
               {runtime.kind()},
               {runtime.ready(), tone(runtime.ready())},
               {runtime.graced(), tone(runtime.graced())},
               {runtime.primary() ? "primary" : ""},
               {why_not_ready(runtime)}});
  }
  return table;
}

Table conditions_table(const v1::Node& node) {
  Table table({{"CONDITION"},
               {"STATUS"},
               {"SINCE", Align::Left, 1},
               {"HEARD OF", Align::Left, 2},
               {"REASON"},
               {.head = "MESSAGE", .wraps = true}});
  for (const v1::Condition& condition : node.conditions()) {
    table.add({{condition.type()},
               {condition.status(), condition.status() == "True" ? Tone::Good : Tone::Bad},
               {local_time(condition.last_transition_ms())},
               {local_time(condition.last_heartbeat_ms())},
               {condition.reason()},
               {condition.message()}});
  }
  return table;
}

std::string load_fact(const v1::Node& node, Resource resource) {
  const v1::Load& load = resource == Resource::Cpu ? node.cpu_load() : node.ram_load();
  return fmt::format("{} (overloaded above {}% for {}s, relieved at {}%)",
                     load_text(node, resource), load.max(), load.timeout_ms() / 1000, load.min());
}

Result<std::string> describe_node(const client::Client& client, const std::string& name,
                                  const Style& style) {
  const v1::Nodes all = TRY(list_nodes(client));
  const v1::Node& node = *TRY(pick_node(all, name));
  Facts facts;
  facts.add("Node", node.name(), Tone::Strong);
  facts.add("Type", node.type());
  facts.add("State", state_text(node), tone_of(node));
  if (!node.store_problem().empty()) {
    facts.add("Store", "cannot be written, nothing new is begun here: " + node.store_problem(),
              Tone::Warning);
  }
  facts.add("Labels", fmt::format("{}", fmt::join(node.labels(), ", ")));
  facts.add("Priority", std::to_string(node.priority()));
  facts.add("Capacity", usage_text(node.capacity()));
  facts.add("Reserved", usage_text(node.reserved()));
  if (node.measured()) facts.add("Used", usage_text(node.used()));
  if (node.has_cpu_load()) facts.add("Load of cpu", load_fact(node, Resource::Cpu));
  if (node.has_ram_load()) facts.add("Load of ram", load_fact(node, Resource::Ram));
  for (const v1::PartitionUsage& partition : node.partitions()) {
    facts.add("Disk for " + partition.name(),
              fmt::format("{} of {} used", human(Bytes(partition.used())),
                          human(Bytes(partition.size()))));
  }
  facts.add("Traffic", traffic_text(node.traffic()));
  for (const std::string& remark : node.remarks()) facts.add("Remark", remark);
  const v1::Instances on_it = TRY(list_instances(client, {.node = node.name()}));
  const std::vector<v1::Instance> instances(on_it.instances().begin(), on_it.instances().end());
  return facts.render(style) + section("Conditions", conditions_table(node), style) +
         section("Runtimes", runtimes_table(node), style) +
         section("Instances", instances_table(instances, Detail::Short), style) +
         TRY(events_section(client, {"node/" + node.name()}, style));
}

std::vector<v1::Instance> instances_below(const v1::Instances& all,
                                          const std::vector<std::string>& names) {
  std::vector<v1::Instance> below;
  for (const v1::Instance& instance : all.instances()) {
    const bool is_below = std::ranges::any_of(
        names, [&](const std::string& name) { return name_of(instance).starts_with(name + "/"); });
    if (is_below) below.push_back(instance);
  }
  return below;
}

// What is in its pools, and why that is not more.
std::string pool_section(const v1::Documents& all, const std::string& id, const Style& style) {
  for (const v1::Pool& pool : all.pools()) {
    if (pool.namespace_() + "/" + pool.application() != id) continue;
    Facts facts;
    facts.add(
        "Instances",
        fmt::format("{} ready, {} pending, {} standby, {} active, {} terminating", pool.ready(),
                    pool.pending(), pool.standby(), pool.active(), pool.terminating()));
    facts.add("Sessions that wait", std::to_string(pool.waiting()),
              pool.waiting() > 0 ? Tone::Warning : Tone::Plain);
    facts.add("No place for more", problem_text(pool.refusal()), Tone::Bad);
    facts.add("Last one that failed", problem_text(pool.failure()), Tone::Bad);
    if (pool.failures() > 1) facts.add("Failures in a row", std::to_string(pool.failures()));
    return fmt::format("\n{}\n{}", style.paint("Pool", Tone::Strong), facts.render(style, 2));
  }
  return "";
}

Result<std::string> describe_document(const client::Client& client, Kind kind,
                                      const std::string& name, const Style& style) {
  const v1::Documents all = TRY(list_documents(client, kind));
  std::string out;
  std::vector<std::string> below;
  for (const Struct* document : TRY(pick_documents(all, kind, name))) {
    out += (out.empty() ? "" : "---\n") + yaml_text(json_of(*document));
    below = instances_meant_by(kind, *document);
  }
  std::vector<std::string> about{fmt::format("{}/{}", singular(kind), id_meant_by(kind, name))};
  if (kind == Kind::Application) out += pool_section(all, id_meant_by(kind, name), style);
  if (!below.empty()) {
    const v1::Instances instances = TRY(list_instances(client));
    out += section("Instances", instances_table(instances_below(instances, below), Detail::Short),
                   style);
    for (const std::string& run : below) {
      about.push_back("instance/" + run);
      about.push_back("request/" + run);
    }
  }
  return out + TRY(events_section(client, about, style));
}

Result<ExitCode> run(const DescribeFlags& flags, Console& console) {
  const Kind kind = TRY(parse_kind(flags.kind));
  if (kind == Kind::Event) return invalid_input("events have no more to tell: berth get events");
  const client::Client client = TRY(connect(flags.connection));
  const Style& style = console.out_style;
  if (kind == Kind::Instance) {
    console.out << TRY(describe_instance(client, flags.name, style));
  } else if (kind == Kind::Node) {
    console.out << TRY(describe_node(client, flags.name, style));
  } else if (kind == Kind::Session) {
    console.out << session_text(TRY(get_session(client, session_named(flags.name))), style)
                << TRY(events_section(client, {"session/" + name_of(session_named(flags.name))},
                                      style));
  } else {
    console.out << TRY(describe_document(client, kind, flags.name, style));
  }
  return ExitCode::Done;
}

Command declare_describe(CLI::App& verb) {
  const auto flags = std::make_shared<DescribeFlags>();
  verb.add_option("KIND", flags->kind, "instance, node, item, deployment, nodeconfig, ...")
      ->type_name("")
      ->required();
  verb.add_option("NAME", flags->name, "Which one")->type_name("")->required();
  declare_connection_flags(verb, flags->connection);
  verb.footer(kDescribeExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb describe_verb{"describe", "Tell all about one thing, with its events", declare_describe};

}  // namespace berth::cli
