#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/ask/connection.h"
#include "cli/ask/watching.h"
#include "cli/flags.h"
#include "cli/show/figures.h"
#include "cli/show/terminal.h"
#include "cli/show/top_table.h"
#include "cli/verbs/verb.h"

// `berth top`: who uses how much.
namespace berth::cli {
namespace {

constexpr const char* kTopExamples =
    "Examples:\n"
    "  berth top                      nodes: what is used and what is reserved\n"
    "  berth top instances            the hungriest first\n"
    "  berth top nodes --watch\n"
    "\n"
    "Exit codes: 0 done, 3 invalid input, 6 cannot reach the control plane.";

struct TopFlags {
  ConnectionFlags connection;
  std::string kind = "nodes";
  std::string output = "table";
  bool watch = false;
};

std::string render(const std::vector<v1::Node>& nodes, const TopFlags& flags, const Style& style) {
  if (flags.output == "table" || flags.output == "wide") return top_nodes(nodes, style);
  Json list = Json::array();
  std::string names;
  for (const v1::Node& node : nodes) {
    list.push_back(json_of(node));
    names += "node/" + node.name() + "\n";
  }
  if (flags.output == "name") return names;
  return flags.output == "json" ? json_text({{"nodes", list}}) : yaml_text({{"nodes", list}});
}

std::string render(const std::vector<v1::Instance>& instances, const TopFlags& flags,
                   const Style& style) {
  if (flags.output == "table" || flags.output == "wide") return top_instances(instances, style);
  Json list = Json::array();
  std::string names;
  for (const v1::Instance& instance : instances) {
    list.push_back(json_of(instance));
    names += "instance/" + name_of(instance) + "\n";
  }
  if (flags.output == "name") return names;
  return flags.output == "json" ? json_text({{"instances", list}})
                                : yaml_text({{"instances", list}});
}

Result<std::string> frame(const client::Client& client, Kind kind, const TopFlags& flags,
                          const Style& style) {
  if (kind == Kind::Node) {
    const v1::Nodes all = TRY(list_nodes(client));
    return render(std::vector<v1::Node>(all.nodes().begin(), all.nodes().end()), flags, style);
  }
  const v1::Instances all = TRY(list_instances(client));
  return render(by_appetite({all.instances().begin(), all.instances().end()}), flags, style);
}

Result<ExitCode> run(const TopFlags& flags, Console& console) {
  const Kind kind = TRY(parse_kind(flags.kind));
  if (kind != Kind::Node && kind != Kind::Instance) {
    return invalid_input("top shows nodes or instances");
  }
  const client::Client client = TRY(connect(flags.connection));
  Canvas canvas(console.out);
  const bool draws = flags.watch && console.live;
  do {
    const TerminalSize size = terminal_size(STDOUT_FILENO);
    Style style = console.out_style;
    if (draws) style.columns = size.columns;  // it may have changed
    if (flags.output == "wide") style.columns = 0;
    const std::string text = TRY(frame(client, kind, flags, style));
    if (draws) {
      canvas.draw(text, size);
    } else {
      console.out << text << std::flush;
    }
  } while (flags.watch && console.out && sleep_for(2s, {}));
  return ExitCode::Done;
}

Command declare_top(CLI::App& verb) {
  const auto flags = std::make_shared<TopFlags>();
  verb.add_option("KIND", flags->kind, "nodes (if nothing is said) or instances")->type_name("");
  add_output_flag(verb, flags->output);
  verb.add_flag("-w,--watch", flags->watch, "Go on until Ctrl-C")->envname("BERTH_WATCH");
  declare_connection_flags(verb, flags->connection);
  verb.footer(kTopExamples);
  return [flags](Console& console) { return run(*flags, console); };
}

}  // namespace

const Verb top_verb{"top", "Show what nodes and instances use", declare_top};

}  // namespace berth::cli
