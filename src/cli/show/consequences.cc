#include "cli/show/consequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/ask/objects.h"
#include "cli/show/figures.h"
#include "cli/show/table.h"

namespace berth::cli {
namespace {

// Empty where there is nothing to interrupt.
std::string downtime_text(const v1::Consequence& consequence) {
  if (consequence.downtime() == "stopsFirst") return "stops first";
  if (consequence.downtime() == "restarts") return "restarts";
  if (consequence.downtime() == "downNow") return "is down now";
  return consequence.has_from() ? "no downtime" : "";
}

bool has_downtime(const v1::Consequence& consequence) {
  return consequence.downtime() != "none" && consequence.downtime() != "downNow";
}

std::string line_of(const v1::Consequence& consequence, const Style& style) {
  const std::string from = consequence.has_from() ? ", from " + consequence.from().node() : "";
  std::string downtime = downtime_text(consequence);
  if (!downtime.empty()) downtime = ": " + downtime;
  const Tone tone = has_downtime(consequence) ? Tone::Warning : Tone::Plain;
  return fmt::format("  {:<8}{}  {} on {}{}{}\n", printable(consequence.action()),
                     printable(model::to_string(key_of(consequence.key()))),
                     printable(consequence.version()), printable(consequence.place().node()),
                     printable(from), style.paint(downtime, tone));
}

}  // namespace

std::string consequences_text(const Consequences& consequences, Detail detail, const Style& style) {
  const auto size = static_cast<std::size_t>(consequences.size());
  const bool all = detail == Detail::Wide || size <= kReadableRows;
  const std::size_t shown = all ? size : kReadableRows - 1;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += line_of(consequences.Get(static_cast<int>(i)), style);
  }
  if (!all) text += fmt::format("  ... and {} more (-o wide lists all)\n", size - shown);
  return text;
}

Json json_of(const Consequences& consequences) {
  Json list = Json::array();
  for (const v1::Consequence& one : consequences) {
    list.push_back({{"item", one.key().item()},
                    {"subject", one.key().subject()},
                    {"index", one.key().index()},
                    {"version", one.version()},
                    {"action", one.action()},
                    {"node", one.place().node()},
                    {"from", one.from().node()},
                    {"downtime", one.downtime()}});
  }
  return list;
}

}  // namespace berth::cli
