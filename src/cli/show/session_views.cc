#include "cli/show/session_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/ask/sessions.h"

namespace berth::cli {
namespace {

Tone session_tone(const v1::Session& session) {
  if (session.state() == "available" || session.state() == "in-use") return Tone::Good;
  if (session.state() == "failed" || session.state() == "timeout") return Tone::Bad;
  return session.state() == "closed" ? Tone::Dim : Tone::Change;
}

// "failed(NodeLost)"
std::string session_state(const v1::Session& session) {
  if (session.reason().empty()) return session.state();
  return fmt::format("{}({})", session.state(), session.reason());
}

// "8080/tcp at 10.0.0.1:20001"
std::string endpoint_text(const v1::SessionEndpoint& endpoint) {
  return fmt::format("{}/{} at {}", endpoint.port(), endpoint.protocol(), endpoint.external());
}

// Of one that is over they are free, and may be another's by now.
bool has_endpoints(const v1::Session& session) { return session.times().ended().empty(); }

std::string endpoints_cell(const v1::Session& session) {
  if (!has_endpoints(session)) return "";
  std::vector<std::string> texts;
  for (const v1::SessionEndpoint& endpoint : session.endpoints()) {
    texts.push_back(endpoint_text(endpoint));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

Json time_json(const std::string& time) { return time.empty() ? Json(nullptr) : Json(time); }

Json problem_json(const v1::Problem& problem) {
  return {{"reason", problem.reason()}, {"message", problem.message()}};
}

}  // namespace

std::string problem_text(const v1::Problem& problem) {
  if (problem.message().empty()) return problem.reason();
  return fmt::format("{}: {}", problem.reason(), problem.message());
}

Table sessions_table(const std::vector<v1::Session>& sessions, Detail detail) {
  const bool is_wide = detail == Detail::Wide;
  Table table({{"NAMESPACE"},
               {"NAME"},
               {"APPLICATION", Align::Left, 1},
               {"STATE"},
               {"NODE", Align::Left, 2},
               {"CLIENTS", Align::Right, 3},
               {.head = "ENDPOINTS", .wraps = true},
               {"INSTANCE", Align::Left, 4},
               {"CREATED", Align::Left, 5},
               {.head = "MESSAGE", .wraps = true}});
  for (const v1::Session& session : sessions) {
    table.add({{session.namespace_()},
               {session.name()},
               {session.application()},
               {session_state(session), session_tone(session), session.state()},
               {session.node()},
               {std::to_string(session.clients())},
               {endpoints_cell(session)},
               {is_wide ? session.instance() : ""},
               {is_wide ? session.times().created() : ""},
               {is_wide ? session.message() : ""}});
  }
  return table;
}

std::string session_text(const v1::Session& session, const Style& style) {
  Table table({{""}, {.head = "", .wraps = true}});
  const auto add = [&](std::string_view name, const std::string& value, Tone tone = Tone::Plain) {
    if (!value.empty()) table.add({{fmt::format("{}:", name), Tone::Dim}, {value, tone}});
  };
  add("Session", name_of(session), Tone::Strong);
  add("Application", session.namespace_() + "/" + session.application());
  add("State", session_state(session), session_tone(session));
  add("Message", session.message());
  add("Instance", session.instance());
  add("Node", session.node());
  for (const v1::SessionEndpoint& endpoint : session.endpoints()) {
    const std::string inside = endpoint.internal().empty() ? "" : ", inside " + endpoint.internal();
    add(has_endpoints(session) ? "Endpoint" : "Endpoint then", endpoint_text(endpoint) + inside);
  }
  add("Clients", std::to_string(session.clients()));
  if (session.incarnation() > 1) add("Incarnation", std::to_string(session.incarnation()));
  add("Created", session.times().created());
  add("Available", session.times().available());
  add("Ended", session.times().ended());
  return table.render(style, 0);
}

std::string endpoints_text(const v1::Session& session) {
  std::string text = name_of(session) + "\n";
  for (const v1::SessionEndpoint& endpoint : session.endpoints()) {
    text += fmt::format("  {}/{}  {}\n", endpoint.port(), endpoint.protocol(), endpoint.external());
  }
  return text;
}

std::string session_line(const v1::Session& session, const Style& style) {
  std::string line = fmt::format("{}  {}", name_of(session),
                                 style.paint(session_state(session), session_tone(session)));
  if (!session.node().empty()) line += "  on " + session.node();
  const std::string endpoints = endpoints_cell(session);
  if (!endpoints.empty()) line += "  " + endpoints;
  return line + "\n";
}

Json json_of(const v1::Session& session) {
  Json endpoints = Json::array();
  for (const v1::SessionEndpoint& endpoint : session.endpoints()) {
    endpoints.push_back({{"port", endpoint.port()},
                         {"protocol", endpoint.protocol()},
                         {"external", endpoint.external()},
                         {"internal", endpoint.internal()}});
  }
  return {{"name", session.name()},
          {"namespace", session.namespace_()},
          {"application", session.application()},
          {"instance", session.instance()},
          {"node", session.node()},
          {"state", session.state()},
          {"reason", session.reason()},
          {"message", session.message()},
          {"incarnation", session.incarnation()},
          {"endpoints", std::move(endpoints)},
          {"clients", session.clients()},
          {"times",
           {{"created", time_json(session.times().created())},
            {"available", time_json(session.times().available())},
            {"ended", time_json(session.times().ended())}}}};
}

Json json_of(const v1::Pool& pool) {
  return {{"namespace", pool.namespace_()},
          {"application", pool.application()},
          {"ready", pool.ready()},
          {"pending", pool.pending()},
          {"standby", pool.standby()},
          {"active", pool.active()},
          {"terminating", pool.terminating()},
          {"waiting", pool.waiting()},
          {"refusal", problem_json(pool.refusal())},
          {"failure", problem_json(pool.failure())},
          {"failures", pool.failures()}};
}

}  // namespace berth::cli
