#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/watching.h"
#include "cli/flags.h"
#include "cli/show/views.h"
#include "cli/verbs/verb.h"

// `berth events`: what happened.
namespace berth::cli {
namespace {

constexpr const char* kEventsExamples =
    "Examples:\n"
    "  berth events                          what happened in the cluster\n"
    "  berth events node/n1                  to one node\n"
    "  berth events instance/web --watch     to the instances of an item, as it happens\n"
    "  berth events -o json | jq -r '.events[].text'\n"
    "\n"
    "Exit codes: 0 done, 3 invalid input, 6 cannot reach the control plane.";

struct EventsFlags {
  ConnectionFlags connection;
  std::string about;
  std::string output = "table";
  std::uint32_t limit = 0;
  bool watch = false;
};

std::string render(const v1::Events& events, const EventsFlags& flags, const Style& style) {
  const std::vector<v1::Event> all(events.events().begin(), events.events().end());
  Json list = Json::array();
  std::string names;
  for (const v1::Event& event : all) {
    list.push_back(json_of(event));
    names += fmt::format("event/{}\n", event.number());
  }
  if (flags.output == "json") return json_text({{"events", list}});
  if (flags.output == "yaml") return yaml_text({{"events", list}});
  if (flags.output == "name") return names;
  const Table table = events_table(all);
  Style room = style;
  if (flags.output == "wide") room.columns = 0;
  return table.empty() ? "There are no events.\n" : table.render(room, 0);
}

std::string line_of(const v1::Event& event, const EventsFlags& flags, const Style& style) {
  if (flags.output == "json") return json_line(json_of(event));
  if (flags.output == "yaml") return "---\n" + yaml_text(json_of(event));
  if (flags.output == "name") return fmt::format("event/{}\n", event.number());
  return event_line(event, style);
}

// What is known first, then what happens. Events have numbers, so none is missed and none is told
// twice, not even when the connection breaks.
Result<ExitCode> watch_events(const client::Client& client, const EventsFlags& flags,
                              Console& console) {
  std::uint64_t last = 0;
  const auto tell = [&](const v1::Event& event) {
    if (event.number() <= last) return;
    last = event.number();
    console.out << line_of(event, flags, console.out_style) << std::flush;
  };
  Result<void> caught_up;
  const auto catch_up = [&]() -> Result<void> {
    const v1::Events events =
        TRY(list_events(client, {.about = flags.about, .after = last, .limit = flags.limit}));
    for (const v1::Event& event : events.events()) tell(event);
    return {};
  };
  Mirror mirror;
  const auto on_event = [&](const v1::WatchEvent& event) {
    if (event.what_case() == v1::WatchEvent::kSynced) caught_up = catch_up();
    if (event.has_event()) tell(event.event());
    return caught_up && console.out;
  };
  TRY(watch(client, mirror, {.about = flags.about, .events = true, .on_event = on_event}));
  if (!caught_up) return caught_up.error();
  return ExitCode::Done;
}

Result<ExitCode> run(const EventsFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  if (flags.watch) return watch_events(client, flags, console);
  const v1::Events events = TRY(list_events(client, {.about = flags.about, .limit = flags.limit}));
  console.out << render(events, flags, console.out_style);
  return ExitCode::Done;
}

Command declare_events(CLI::App& verb) {
  const auto flags = std::make_shared<EventsFlags>();
  verb.add_option("OBJECT", flags->about, "node/NAME or instance/ITEM[/SUBJECT[/INDEX]]")
      ->type_name("");
  add_output_flag(verb, flags->output);
  verb.add_option("--limit", flags->limit, "Only so many of the newest")
      ->type_name("N")
      ->envname("BERTH_LIMIT");
  verb.add_flag("-w,--watch", flags->watch, "Go on as things happen, until Ctrl-C")
      ->envname("BERTH_WATCH");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kEventsExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb events_verb{"events", "Show what happened, to the cluster or to one thing",
                       declare_events};

}  // namespace berth::cli
