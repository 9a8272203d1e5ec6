#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/suggest.h"
#include "cli/ask/connection.h"
#include "cli/ask/sessions.h"
#include "cli/ask/watching.h"
#include "cli/flags.h"
#include "cli/show/session_views.h"
#include "cli/verbs/verb.h"
#include "client/path.h"

// `berth session`: opens, closes and shows sessions of applications.
namespace berth::cli {
namespace {

constexpr const char* kSessionExamples =
    "Examples:\n"
    "  berth session open games/echo                   prints its name and where it is reached\n"
    "  berth session open games/echo --name blue --data @map.json --timeout 2s --ttl 1h\n"
    "  berth session open echo -o json | jq -r '.endpoints[0].external'\n"
    "  berth session close games/blue                  returns when it is over\n"
    "  berth session close games/blue --now            its instance is killed\n"
    "  berth session list -n games --application echo\n"
    "  berth session describe games/blue\n"
    "  berth session watch                             every change as a line, until Ctrl-C\n"
    "\n"
    "A name without a namespace is in the namespace default.\n"
    "-o json: {name, namespace, application, instance, node, state, reason, message, "
    "incarnation,\n"
    "endpoints: [{port, protocol, external, internal}], clients, times: {created, available, "
    "ended}}.\n"
    "Exit codes: 0 done, 1 it has failed or was closed, 3 invalid input, 4 no such thing, 5 not\n"
    "available before the timeout, 6 cannot reach the control plane, 7 busy: try again later.";

constexpr Duration kLongWait = 1h;     // for a timeout or grace that only the application knows
constexpr Duration kAnswerTime = 30s;  // beyond the timeout

struct SessionFlags {
  ConnectionFlags connection;
  std::string action;
  std::string about;  // an application, or a session
  std::string name;
  std::string data;
  std::string request_id;
  std::optional<Duration> timeout;
  std::optional<Duration> ttl;
  bool reopen = false;
  bool now = false;
  SessionFilter filter;
  std::string output = "table";
};

std::int64_t in_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// Whoever gives a flag means something by it: it is not passed over where it does nothing.
Result<void> check_flags(const SessionFlags& flags) {
  struct Only {
    bool given;
    std::string_view flag;
    std::vector<std::string_view> actions;
  };
  const std::vector<Only> all{
      {!flags.name.empty(), "--name", {"open"}},
      {!flags.data.empty(), "--data", {"open"}},
      {!flags.request_id.empty(), "--request-id", {"open"}},
      {flags.timeout.has_value(), "--timeout", {"open"}},
      {flags.ttl.has_value(), "--ttl", {"open"}},
      {flags.reopen, "--reopen", {"open"}},
      {flags.now, "--now", {"close"}},
      {!flags.filter.ns.empty(), "--namespace", {"list", "watch"}},
      {!flags.filter.application.empty(), "--application", {"list", "watch"}},
      {!flags.filter.state.empty(), "--state", {"list", "watch"}},
  };
  for (const Only& only : all) {
    if (!only.given || std::ranges::find(only.actions, flags.action) != only.actions.end()) {
      continue;
    }
    return invalid_input(fmt::format("{} is for berth session {}, and does nothing with {}",
                                     only.flag, fmt::join(only.actions, " and "), flags.action));
  }
  for (const auto& [time, flag] : {std::pair(flags.timeout, "--timeout"), {flags.ttl, "--ttl"}}) {
    if (time && *time <= Duration{}) {
      return invalid_input(fmt::format("{} must be more than 0s", flag));
    }
  }
  return {};
}

Result<void> check_words(const SessionFlags& flags) {
  const auto& known = session_actions();
  if (std::ranges::find(known, flags.action) == known.end()) {
    return invalid_input(fmt::format("\"{}\" is none of {}.{}", printable(flags.action),
                                     fmt::join(known, ", "), did_you_mean(flags.action, known)));
  }
  const bool takes_name = flags.action != "list" && flags.action != "watch";
  if (takes_name && flags.about.empty()) {
    const std::string_view what = flags.action == "open" ? "application" : "session";
    return invalid_input(
        fmt::format("which {}? berth session {} [NAMESPACE/]NAME", what, flags.action));
  }
  if (!takes_name && !flags.about.empty()) {
    return invalid_input(fmt::format("{} takes no name; berth session describe {} shows one",
                                     flags.action, printable(flags.about)));
  }
  return check_flags(flags);
}

// "@file" is what is in it.
Result<std::string> data_of(const std::string& text) {
  if (!text.starts_with('@')) return text;
  std::ifstream file(text.substr(1), std::ios::binary);
  if (!file) return invalid_input("--data: cannot read " + text.substr(1));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<v1::OpenSessionRequest> request_of(const SessionFlags& flags) {
  v1::OpenSessionRequest request;
  request.set_name(flags.name);
  request.set_request_id(flags.request_id);
  request.set_data(TRY(data_of(flags.data)));
  if (flags.timeout) request.set_timeout_ms(in_ms(*flags.timeout));
  if (flags.ttl) request.set_ttl_ms(in_ms(*flags.ttl));
  if (flags.reopen) request.set_reopen(true);
  return request;
}

void print(const v1::Session& session, const SessionFlags& flags, const std::string& text,
           Console& console) {
  if (flags.output == "json") {
    console.out << json_text(json_of(session));
  } else if (flags.output == "yaml") {
    console.out << yaml_text(json_of(session));
  } else if (flags.output == "name") {
    console.out << "session/" << name_of(session) << '\n';
  } else {
    console.out << text;
  }
}

Result<ExitCode> open_session(const SessionFlags& flags, Console& console) {
  const v1::OpenSessionRequest request = TRY(request_of(flags));
  const model::ApplicationKey key = application_named(flags.about);
  const client::Client client = TRY(connect(
      flags.connection, {.answer_timeout = flags.timeout.value_or(kLongWait) + kAnswerTime}));
  const auto opened = client::call<v1::Session>(
      client, {.method = client::Method::Post,
               .path = fmt::format("/v1/namespaces/{}/applications/{}/sessions",
                                   client::encoded(key.ns), client::encoded(key.name)),
               .body = &request});
  if (!opened && opened.error().code == Code::Exhausted) {
    console.err << "berth session: " << console.err_style.paint("error:", Tone::Bad) << ' '
                << opened.error().message << '\n';
    return ExitCode::Busy;
  }
  if (!opened && opened.error().code == Code::NotFound &&
      flags.about.find('/') == std::string::npos) {
    return Error{Code::NotFound,
                 fmt::format("{} (a name without a namespace is in the namespace default)",
                             opened.error().message)};
  }
  const v1::Session session = TRY(opened);
  print(session, flags, endpoints_text(session), console);
  return ExitCode::Done;
}

Result<ExitCode> close_session(const SessionFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection, {.answer_timeout = kLongWait}));
  const auto session = TRY(client::call<v1::Session>(
      client, {.method = client::Method::Delete,
               .path = client::with_query(session_path(session_named(flags.about)),
                                          {{"now", flags.now ? "true" : ""}})}));
  print(session, flags, session_line(session, console.out_style), console);
  return ExitCode::Done;
}

Result<ExitCode> list(const SessionFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  const v1::Sessions all = TRY(list_sessions(client, flags.filter));
  const bool is_json = flags.output == "json";
  if (is_json || flags.output == "yaml") {
    Json json{{"sessions", Json::array()}, {"more", all.more()}};
    for (const v1::Session& session : all.sessions()) json["sessions"].push_back(json_of(session));
    console.out << (is_json ? json_text(json) : yaml_text(json));
    return ExitCode::Done;
  }
  if (flags.output == "name") {
    for (const v1::Session& session : all.sessions()) print(session, flags, "", console);
    return ExitCode::Done;
  }
  const bool is_wide = flags.output == "wide";
  Style style = console.out_style;
  if (is_wide) style.columns = 0;
  const Table table = sessions_table({all.sessions().begin(), all.sessions().end()},
                                     is_wide ? Detail::Wide : Detail::Short);
  console.out << (table.empty() ? "There are no sessions.\n" : table.render(style, 0));
  if (all.more()) console.err << "There are more: --namespace and --application select.\n";
  return ExitCode::Done;
}

Result<ExitCode> describe(const SessionFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  const v1::Session session = TRY(get_session(client, session_named(flags.about)));
  print(session, flags, session_text(session, console.out_style), console);
  return ExitCode::Done;
}

bool is_watched(const v1::Session& session, const SessionFilter& filter) {
  return (filter.ns.empty() || session.namespace_() == filter.ns) &&
         (filter.application.empty() || session.application() == filter.application) &&
         (filter.state.empty() || session.state() == filter.state);
}

Result<ExitCode> watch_sessions(const SessionFlags& flags, Console& console) {
  const client::Client client = TRY(connect(flags.connection));
  Mirror mirror;
  const auto on_event = [&](const v1::WatchEvent& event) {
    if (!event.has_session() || !is_watched(event.session(), flags.filter)) return true;
    if (flags.output == "json") {
      console.out << json_line(json_of(event.session())) << std::flush;
    } else {
      print(event.session(), flags, session_line(event.session(), console.out_style), console);
      console.out << std::flush;
    }
    return static_cast<bool>(console.out);
  };
  TRY(watch(client, mirror, {.kinds = "sessions", .on_event = on_event, .tick = {}}));
  return ExitCode::Done;
}

Result<ExitCode> run(const SessionFlags& flags, Console& console) {
  TRY(check_words(flags));
  if (flags.action == "open") return open_session(flags, console);
  if (flags.action == "close") return close_session(flags, console);
  if (flags.action == "describe") return describe(flags, console);
  if (flags.action == "watch") return watch_sessions(flags, console);
  return list(flags, console);
}

void declare_open_flags(CLI::App& verb, SessionFlags& flags) {
  verb.add_option("--name", flags.name, "open: its name; left out: it is called like its instance")
      ->type_name("NAME")
      ->envname("BERTH_SESSION_NAME");
  verb.add_option("--data", flags.data, "open: for the app, as it is, or @FILE")
      ->type_name("TEXT|@FILE")
      ->envname("BERTH_SESSION_DATA");
  add_duration(verb, "--timeout", flags.timeout,
               "open: how long to wait for it; left out: as its application says")
      ->envname("BERTH_SESSION_TIMEOUT");
  add_duration(verb, "--ttl", flags.ttl, "open: when it is closed, counted from its being there")
      ->envname("BERTH_SESSION_TTL");
  verb.add_option("--request-id", flags.request_id,
                  "open: who asks again with the same one gets the same session")
      ->type_name("ID")
      ->envname("BERTH_SESSION_REQUEST_ID");
  verb.add_flag("--reopen", flags.reopen, "open: open it again elsewhere if its instance is lost")
      ->envname("BERTH_SESSION_REOPEN");
}

Command declare_session(CLI::App& verb) {
  const auto flags = std::make_shared<SessionFlags>();
  verb.add_option("ACTION", flags->action, "open, close, list, describe or watch")
      ->type_name("")
      ->required();
  verb.add_option("NAME", flags->about, "The application to open one of, or a session")
      ->type_name("");
  declare_open_flags(verb, *flags);
  verb.add_flag("--now", flags->now, "close: without grace, its instance is killed")
      ->envname("BERTH_SESSION_NOW");
  verb.add_option("-n,--namespace", flags->filter.ns, "list, watch: only of this namespace")
      ->type_name("NAMESPACE")
      ->envname("BERTH_SESSION_NAMESPACE");
  verb.add_option("--application", flags->filter.application,
                  "list, watch: only of this application")
      ->type_name("NAME")
      ->envname("BERTH_SESSION_APPLICATION");
  verb.add_option("--state", flags->filter.state, "list, watch: only in this state")
      ->type_name("STATE")
      ->envname("BERTH_SESSION_STATE");
  add_output_flag(verb, flags->output);
  declare_connection_flags(verb, flags->connection);
  verb.footer(kSessionExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb session_verb{"session", "Open, close and show sessions of applications",
                        declare_session};

}  // namespace berth::cli
