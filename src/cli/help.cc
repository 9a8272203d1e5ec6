#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/flags.h"
#include "cli/table.h"

namespace berth::cli {
namespace {

std::string verbs_of(const CLI::App& app, const Style& style) {
  Table table({{""}, {""}});
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    if (verb->get_group().empty()) continue;  // hidden
    table.add({{verb->get_name()}, {verb->get_description()}});
  }
  return table.empty() ? ""
                       : "\n" + style.paint("Verbs", Tone::Strong) + "\n" + table.render(style, 2);
}

std::string arguments_of(const CLI::App& app, const Style& style) {
  Table table({{""}, {""}});
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      table.add({{option->get_name(true)}, {option->get_description()}});
    }
  }
  if (table.empty()) return "";
  return "\n" + style.paint("Arguments", Tone::Strong) + "\n" + table.render(style, 2);
}

std::string flags_help(const CLI::App& app, const Style& style) {
  Table table({{""}, {""}, {""}});
  for (const Flag& flag : flags_of(app)) {
    const std::string value = flag.takes_value ? " " + flag.value : "";
    table.add({{fmt::format("{}{}", fmt::join(flag.names, ", "), value)},
               {flag.what},
               {flag.variable, Tone::Dim}});
  }
  return "\n" + style.paint("Flags", Tone::Strong) + "\n" + table.render(style, 2);
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
  return fmt::format("{}\n\nUsage: {}\n{}{}{}\n{}\n", app.get_description(), usage_of(app),
                     verbs_of(app, style), arguments_of(app, style), flags_help(app, style),
                     app.get_footer());
}

}  // namespace berth::cli
