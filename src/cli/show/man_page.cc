#include "cli/show/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/flags.h"
#include "cli/show/help.h"

namespace berth::cli {
namespace {

// Text as roff prints it unchanged: no command at the start of a line, no escape.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_starts = true;
  for (const char c : text) {
    if (line_starts && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_starts = c == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string page_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "berth" : "berth-" + app.get_name();
}

std::string entry(const std::string& head, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", escaped(head), escaped(text));
}

std::string verbs_part(const CLI::App& app) {
  std::string out;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    if (!verb->get_group().empty()) out += entry(verb->get_name(), verb->get_description());
  }
  return out.empty() ? "" : ".SH VERBS\n" + out;
}

std::string arguments_part(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) out += entry(option->get_name(true), option->get_description());
  }
  return out.empty() ? "" : ".SH ARGUMENTS\n" + out;
}

std::string flags_part(const CLI::App& app) {
  std::string out = ".SH OPTIONS\n";
  for (const Flag& flag : flags_of(app)) {
    const std::string value = flag.takes_value ? " " + flag.value : "";
    const std::string variable =
        flag.variable.empty() ? "" : fmt::format(" (environment: {})", flag.variable);
    out += entry(fmt::format("{}{}", fmt::join(flag.names, ", "), value), flag.what + variable);
  }
  return out;
}

std::string see_also(const CLI::App& app) {
  if (app.get_parent() != nullptr) return ".SH SEE ALSO\n.BR berth (1)\n";
  std::vector<std::string> pages;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    if (!verb->get_group().empty())
      pages.push_back(fmt::format(".BR berth\\-{} (1)", escaped(verb->get_name())));
  }
  return fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ",\n"));
}

}  // namespace

std::string man_page(const CLI::App& app) {
  return fmt::format(
      ".TH {} 1 \"\" \"berth {}\" \"Berth\"\n"
      ".SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.B {}\n"
      "{}{}{}"
      ".SH NOTES\n.nf\n{}\n.fi\n{}",
      upper(page_name(app)), BERTH_VERSION, escaped(page_name(app)), escaped(app.get_description()),
      escaped(usage_of(app)), verbs_part(app), arguments_part(app), flags_part(app),
      escaped(app.get_footer()), see_also(app));
}

}  // namespace berth::cli
