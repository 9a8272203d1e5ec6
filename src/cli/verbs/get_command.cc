#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/sessions.h"
#include "cli/ask/watching.h"
#include "cli/flags.h"
#include "cli/show/document_views.h"
#include "cli/show/session_views.h"
#include "cli/show/terminal.h"
#include "cli/show/views.h"
#include "cli/verbs/verb.h"

// `berth get`: lists what there is.
namespace berth::cli {
namespace {

using google::protobuf::Struct;

constexpr const char* kGetExamples =
    "Examples:\n"
    "  berth get instances                       what runs where, in which state\n"
    "  berth get instances --node n1 --state failed\n"
    "  berth get instance web -o wide            all instances of an item\n"
    "  berth get instances --all                 also what is cached, and for how long\n"
    "  berth get nodes --watch                   as it changes\n"
    "  berth get applications --watch            with what is in their pools\n"
    "  berth get sessions --state available\n"
    "  berth get item web -o yaml                a document, as it can be applied again\n"
    "  berth get instances -o json | jq -r '.instances[] | select(.proven) | .node'\n"
    "\n";

constexpr const char* kGetForms =
    "-o json: {\"instances\": [{item, subject, index, version, type, state, reason, message, "
    "node,\n"
    "runtime, movingTo, unverified, restarts, exitCode, priority, uid, gid, address, names,\n"
    "usage: {cpu, ram}}], \"revision\": N}; \"nodes\", \"items\", ... in the same way. cpu in\n"
    "DMIPS, ram in bytes.\n"
    "With --watch one object per line and change.\n"
    "Exit codes: 0 done, 3 invalid input, 4 no such thing, 6 cannot reach the control plane.";

struct GetFlags {
  ConnectionFlags connection;
  std::vector<std::string> words;  // the kind, then names
  std::string output = "table";
  bool watch = false;
  InstanceFilter filter;
};

struct Asked {
  Kind kind;
  std::vector<std::string> names;
  const GetFlags& flags;
};

// What was found, of one kind.
struct Found {
  std::uint64_t revision = 0;
  std::string held;  // why the control plane decides nothing
  std::vector<v1::Instance> instances;
  std::vector<v1::Node> nodes;
  std::vector<v1::Event> events;
  std::vector<v1::Session> sessions;
  v1::Documents all_documents;
  std::vector<const Struct*> documents;  // of all_documents
};

// "web", "web/vehicle" and "web/vehicle/0" name all that lies below them.
bool is_named(const v1::Instance& instance, std::string_view name) {
  if (name.starts_with("instance/")) name.remove_prefix(9);
  const std::string full = name_of(instance);
  return full == name || full.starts_with(std::string(name) + "/");
}

bool is_wanted(const v1::Instance& instance, const Asked& asked) {
  const InstanceFilter& filter = asked.flags.filter;
  return (filter.item.empty() || instance.key().item() == filter.item) &&
         (filter.node.empty() || instance.place().node() == filter.node) &&
         (filter.state.empty() ||
          same_word(v1::InstanceState_Name(instance.state()), filter.state)) &&
         (asked.names.empty() || std::ranges::any_of(asked.names, [&](const std::string& name) {
            return is_named(instance, name);
          }));
}

bool is_wanted(const v1::Node& node, const Asked& asked) {
  if (!asked.flags.filter.node.empty() && node.name() != asked.flags.filter.node) return false;
  return asked.names.empty() || std::ranges::find(asked.names, node.name()) != asked.names.end();
}

Result<void> find_instances(const client::Client& client, const Asked& asked, Found& found) {
  const v1::Instances all = TRY(list_instances(client, {.all = asked.flags.filter.all}));
  found.revision = all.revision();
  for (const std::string& name : asked.names) {
    const bool known = std::ranges::any_of(
        all.instances(), [&](const v1::Instance& instance) { return is_named(instance, name); });
    if (!known) TRY(pick_instance(all, name));  // tells what is wrong with the name
  }
  for (const v1::Instance& instance : all.instances()) {
    if (is_wanted(instance, asked)) found.instances.push_back(instance);
  }
  return {};
}

Result<void> find_nodes(const client::Client& client, const Asked& asked, Found& found) {
  const v1::Nodes all = TRY(list_nodes(client));
  found.revision = all.revision();
  found.held = all.held();
  for (const std::string& name : asked.names) TRY(pick_node(all, name));
  for (const v1::Node& node : all.nodes()) {
    if (is_wanted(node, asked)) found.nodes.push_back(node);
  }
  return {};
}

Result<void> find_documents(const client::Client& client, const Asked& asked, Found& found) {
  found.all_documents = TRY(list_documents(client, asked.kind));
  found.revision = found.all_documents.revision();
  if (asked.names.empty()) {
    for (const Struct& document : found.all_documents.documents()) {
      found.documents.push_back(&document);
    }
  }
  for (const std::string& name : asked.names) {
    for (const Struct* document : TRY(pick_documents(found.all_documents, asked.kind, name))) {
      found.documents.push_back(document);
    }
  }
  return {};
}

Result<void> find_events(const client::Client& client, const Asked& asked, Found& found) {
  std::vector<std::string> about = asked.names;
  if (about.empty()) about.emplace_back();
  for (const std::string& name : about) {
    const v1::Events events = TRY(list_events(client, {.about = name}));
    found.events.insert(found.events.end(), events.events().begin(), events.events().end());
  }
  return {};
}

bool is_wanted(const v1::Session& session, const Asked& asked) {
  const InstanceFilter& filter = asked.flags.filter;
  return (filter.node.empty() || session.node() == filter.node) &&
         (filter.state.empty() || same_word(session.state(), filter.state)) &&
         (asked.names.empty() || std::ranges::any_of(asked.names, [&](const std::string& name) {
            return session_named(name) == session_named(name_of(session));
          }));
}

Result<void> find_sessions(const client::Client& client, const Asked& asked, Found& found) {
  for (const std::string& name : asked.names) {
    found.sessions.push_back(TRY(get_session(client, session_named(name))));
  }
  if (!asked.names.empty()) return {};
  const v1::Sessions all = TRY(list_sessions(client, {}));
  for (const v1::Session& session : all.sessions()) {
    if (is_wanted(session, asked)) found.sessions.push_back(session);
  }
  return {};
}

Result<void> find(const client::Client& client, const Asked& asked, Found& found) {
  if (asked.kind == Kind::Instance) return find_instances(client, asked, found);
  if (asked.kind == Kind::Node) return find_nodes(client, asked, found);
  if (asked.kind == Kind::Event) return find_events(client, asked, found);
  if (asked.kind == Kind::Session) return find_sessions(client, asked, found);
  return find_documents(client, asked, found);
}

Table table_of(const Found& found, Kind kind, Detail detail) {
  if (kind == Kind::Instance) return instances_table(found.instances, detail);
  if (kind == Kind::Node) return nodes_table(found.nodes, detail);
  if (kind == Kind::Event) return events_table(found.events);
  if (kind == Kind::Session) return sessions_table(found.sessions, detail);
  if (kind == Kind::Application) return applications_table(found.documents, found.all_documents);
  return documents_table(kind, found.documents);
}

Json list_of(const Found& found) {
  Json list = Json::array();
  for (const v1::Instance& instance : found.instances) list.push_back(json_of(instance));
  for (const v1::Node& node : found.nodes) list.push_back(json_of(node));
  for (const v1::Event& event : found.events) list.push_back(json_of(event));
  for (const v1::Session& session : found.sessions) list.push_back(json_of(session));
  for (const Struct* document : found.documents) list.push_back(json_of(*document));
  return list;
}

std::string names_of(const Found& found, Kind kind) {
  std::string out;
  const auto add = [&](const std::string& name) {
    out += fmt::format("{}/{}\n", singular(kind), name);
  };
  for (const v1::Instance& instance : found.instances) add(name_of(instance));
  for (const v1::Node& node : found.nodes) add(node.name());
  for (const v1::Event& event : found.events) add(std::to_string(event.number()));
  for (const v1::Session& session : found.sessions) add(name_of(session));
  for (const Struct* document : found.documents) add(document_id(*document));
  return out;
}

// Documents as a manifest: what was got can be applied.
std::string yaml_of(const Found& found, Kind kind) {
  if (!is_document(kind)) {
    return yaml_text({{std::string(plural(kind)), list_of(found)}, {"revision", found.revision}});
  }
  std::string out;
  for (const Struct* document : found.documents) out += "---\n" + yaml_text(json_of(*document));
  return out;
}

std::string render(const Found& found, const Asked& asked, const Style& style) {
  const std::string& output = asked.flags.output;
  const std::string list_name(plural(asked.kind));
  if (output == "json") {
    Json all{{list_name, list_of(found)}, {"revision", found.revision}};
    if (!found.held.empty()) all["held"] = found.held;
    for (const v1::Pool& pool : found.all_documents.pools()) all["pools"].push_back(json_of(pool));
    return json_text(all);
  }
  if (output == "yaml") return yaml_of(found, asked.kind);
  if (output == "name") return names_of(found, asked.kind);
  const bool wide = output == "wide";
  const Table table = table_of(found, asked.kind, wide ? Detail::Wide : Detail::Short);
  if (table.empty()) return fmt::format("There are no {}.\n", list_name);
  Style room = style;
  if (wide) room.columns = 0;
  return table.render(room, 0);
}

bool is_table(const Asked& asked) {
  return asked.flags.output == "table" || asked.flags.output == "wide";
}

// A change as a line for people or programs.
template <class T>
std::string change_text(const T& changed, const Asked& asked, std::string line) {
  if (asked.flags.output == "json") return json_line(json_of(changed));
  if (asked.flags.output == "yaml") return "---\n" + yaml_text(json_of(changed));
  return line;
}

std::string change_text(const v1::WatchEvent& event, const Asked& asked, const Style& style) {
  if (event.has_instance() && asked.kind == Kind::Instance && is_wanted(event.instance(), asked)) {
    return change_text(event.instance(), asked, instance_line(event.instance(), style));
  }
  if (event.has_node() && asked.kind == Kind::Node && is_wanted(event.node(), asked)) {
    return change_text(event.node(), asked, node_line(event.node(), style));
  }
  if (event.has_session() && asked.kind == Kind::Session && is_wanted(event.session(), asked)) {
    return change_text(event.session(), asked, session_line(event.session(), style));
  }
  if (event.has_event() && asked.kind == Kind::Event) {
    return change_text(event.event(), asked, event_line(event.event(), style));
  }
  return "";
}

Found found_in(const Mirror& mirror, const Asked& asked) {
  Found found;
  if (asked.kind == Kind::Instance) {
    for (const auto& [key, instance] : mirror.instances) {
      if (is_wanted(instance, asked)) found.instances.push_back(instance);
    }
  } else {
    for (const auto& [name, node] : mirror.nodes) {
      if (is_wanted(node, asked)) found.nodes.push_back(node);
    }
  }
  return found;
}

// On a terminal the table is drawn again; elsewhere every change is a line of its own.
Result<ExitCode> watch_objects(const client::Client& client, const Asked& asked, Console& console) {
  const bool is_mirrored = asked.kind == Kind::Instance || asked.kind == Kind::Node;
  const bool draws = console.live && is_table(asked) && is_mirrored;
  Canvas canvas(console.out);
  Mirror mirror;
  bool stale = false;
  std::map<std::string, std::string> shown;  // of a node only its usage may have changed
  const auto on_event = [&](const v1::WatchEvent& event) {
    stale = true;
    if (draws) return true;
    const std::string text = change_text(event, asked, console.out_style);
    const bool is_news =
        !event.has_node() || std::exchange(shown[event.node().name()], text) != text;
    if (is_news) console.out << text << std::flush;
    return static_cast<bool>(console.out);
  };
  const auto on_tick = [&] {
    if (draws && std::exchange(stale, false) && mirror.synced) {
      const TerminalSize size = terminal_size(STDOUT_FILENO);
      Style style = console.out_style;
      style.columns = size.columns;  // it may have changed
      canvas.draw(render(found_in(mirror, asked), asked, style), size);
    }
    return true;
  };
  TRY(watch(client, mirror,
            {.kinds = std::string(plural(asked.kind)), .on_event = on_event, .tick = on_tick}));
  return ExitCode::Done;
}

// All of them again, whenever one has changed.
Result<ExitCode> watch_documents(const client::Client& client, const Asked& asked,
                                 Console& console) {
  Mirror mirror;
  bool stale = false;
  Result<void> shown;
  const auto show = [&]() -> Result<void> {
    Found found;
    TRY(find(client, asked, found));
    console.out << render(found, asked, console.out_style) << std::flush;
    return {};
  };
  const auto on_event = [&](const v1::WatchEvent&) {
    stale = true;
    return true;
  };
  const auto on_tick = [&] {
    if (mirror.synced && std::exchange(stale, false)) shown = show();
    return shown && console.out;
  };
  const std::string pools = asked.kind == Kind::Application ? ",pools" : "";
  TRY(watch(
      client, mirror,
      {.kinds = std::string(plural(asked.kind)) + pools, .on_event = on_event, .tick = on_tick}));
  TRY(std::move(shown));
  return ExitCode::OtherError;
}

Result<ExitCode> run(const GetFlags& flags, Console& console) {
  const Asked asked{
      TRY(parse_kind(flags.words.front())), {flags.words.begin() + 1, flags.words.end()}, flags};
  const client::Client client = TRY(connect(flags.connection));
  if (flags.watch && is_document(asked.kind)) return watch_documents(client, asked, console);
  if (flags.watch) return watch_objects(client, asked, console);
  Found found;
  TRY(find(client, asked, found));
  console.out << render(found, asked, console.out_style);
  if (!found.held.empty()) {
    console.err << "The control plane is held, it starts and stops nothing: " << found.held
                << ".\nSee `berth store --help` for the ways out.\n";
  }
  return ExitCode::Done;
}

Command declare_get(CLI::App& verb) {
  const auto flags = std::make_shared<GetFlags>();
  verb.add_option("KIND", flags->words, "What to list, and names of such things")
      ->type_name("")
      ->required()
      ->expected(1, -1);
  add_output_flag(verb, flags->output);
  verb.add_flag("-w,--watch", flags->watch, "Go on as things change, until Ctrl-C")
      ->envname("BERTH_WATCH");
  verb.add_option("--node", flags->filter.node, "Only what is on this node")
      ->type_name("NODE")
      ->envname("BERTH_NODE");
  verb.add_option("--item", flags->filter.item, "Only instances of this item")
      ->type_name("ITEM")
      ->envname("BERTH_ITEM");
  verb.add_option("--state", flags->filter.state, "Only instances in this state")
      ->type_name("active|activating|inactive|failed|paused")
      ->envname("BERTH_STATE");
  verb.add_flag("--all", flags->filter.all,
                "Also instances that are only kept for the day they are asked for again")
      ->envname("BERTH_ALL");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kGetExamples + kinds_help() + kGetForms);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb get_verb{"get", "List instances, nodes, sessions, documents or events", declare_get};

}  // namespace berth::cli
