#include "cli/show/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "cli/flags.h"
#include "cli/show/table.h"
#include "cli/show/wrap.h"

namespace berth::cli {
namespace {

std::string verbs_of(const CLI::App& app, const Style& style) {
  Table table({{""}, {.head = "", .wraps = true}});
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    if (verb->get_group().empty()) continue;  // hidden
    table.add({{verb->get_name()}, {verb->get_description()}});
  }
  return table.empty() ? ""
                       : "\n" + style.paint("Verbs", Tone::Strong) + "\n" + table.render(style, 2);
}

std::string arguments_of(const CLI::App& app, const Style& style) {
  Table table({{""}, {.head = "", .wraps = true}});
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      table.add({{option->get_name(true)}, {option->get_description()}});
    }
  }
  if (table.empty()) return "";
  return "\n" + style.paint("Arguments", Tone::Strong) + "\n" + table.render(style, 2);
}

std::string head_of(const Flag& flag) {
  const std::string value = flag.takes_value ? " " + flag.value : "";
  return fmt::format("{}{}", fmt::join(flag.names, ", "), value);
}

std::string flags_in_columns(const std::vector<Flag>& flags, const Style& style) {
  Table table({{""}, {""}, {""}});
  for (const Flag& flag : flags) {
    table.add({{head_of(flag)}, {flag.what}, {flag.variable, Tone::Dim}});
  }
  return table.render({.colours = style.colours, .unicode = style.unicode}, 2);
}

// The second column begins where it does for most; what is longer stands on a line of its own.
std::string flags_below_each_other(const std::vector<Flag>& flags, const Style& style) {
  constexpr std::size_t kColumn = 30;
  std::string out;
  for (const Flag& flag : flags) {
    std::string head = "  " + head_of(flag);
    const std::string what =
        flag.variable.empty() ? flag.what : fmt::format("{} [{}]", flag.what, flag.variable);
    const bool is_short = width_of(head) + 2 <= kColumn;
    if (is_short) head.append(kColumn - width_of(head), ' ');
    out += is_short ? head : head + "\n" + std::string(kColumn, ' ');
    const std::size_t room = std::max(style.columns, 2 * kColumn) - kColumn;
    out += fmt::format("{}\n", fmt::join(wrapped(what, room), "\n" + std::string(kColumn, ' ')));
  }
  return out;
}

bool has_room_for(std::string_view text, std::size_t columns) {
  while (columns > 0 && !text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (width_of(text.substr(0, end)) > columns) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

std::string flags_help(const CLI::App& app, const Style& style) {
  const std::vector<Flag> flags = flags_of(app);
  const bool has_room = has_room_for(flags_in_columns(flags, {}), style.columns);
  return "\n" + style.paint("Flags", Tone::Strong) + "\n" +
         (has_room ? flags_in_columns(flags, style) : flags_below_each_other(flags, style));
}

}  // namespace

std::string usage_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "berth VERB [FLAGS]";
  std::string usage = "berth " + app.get_name();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) usage += " " + option->get_name(true);
  }
  return usage + " [FLAGS]";
}

std::string help_of(const CLI::App& app, const Style& style) {
  return fmt::format("{}\n\nUsage: {}\n{}{}{}\n{}", app.get_description(), usage_of(app),
                     verbs_of(app, style), arguments_of(app, style), flags_help(app, style),
                     refilled(app.get_footer(), style.columns));
}

}  // namespace berth::cli
