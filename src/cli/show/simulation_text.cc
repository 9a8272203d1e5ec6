#include "cli/show/simulation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/show/figures.h"
#include "cli/show/table.h"

namespace berth::cli {
namespace {

// Of what goes to no terminal.
constexpr std::size_t kUsualColumns = 80;

constexpr std::size_t kSectionIndent = 2;
constexpr std::size_t kBetweenColumns = 2;
constexpr std::size_t kLikeNamed = 3;

template <class Q>
std::size_t tenth_of(Q reserved, Q capacity) {
  if (capacity <= Q{}) return reserved > Q{} ? 9 : 0;
  const double share =
      static_cast<double>(reserved.count()) * 10 / static_cast<double>(capacity.count());
  return static_cast<std::size_t>(std::clamp(share, 0.0, 9.0));
}

std::size_t columns_of(const Style& style) {
  return style.columns == 0 ? kUsualColumns : style.columns;
}

std::string like_text(const std::vector<std::string>& like) {
  if (like.empty()) return "";
  if (like.size() > kLikeNamed) return fmt::format("copies of {} nodes", like.size());
  return fmt::format("copies of {}", fmt::join(like, ", "));
}

std::string counts_section(const SimulationView& view, const Style& style) {
  const auto& outcome = view.outcome;
  const std::uint64_t refused = outcome.refused_count();
  Table table({{""}, {"", Align::Right}, {.head = "", .wraps = true}});
  const auto add = [&table](const char* what, std::uint64_t count, Tone tone, std::string remark) {
    table.add({{what}, {fmt::format("{}", count), tone}, {std::move(remark), Tone::Dim}});
  };
  add("nodes", view.nodes, Tone::Plain, like_text(view.like));
  add("instances", outcome.instances, Tone::Plain, "");
  add("placed", outcome.placed, refused == 0 ? Tone::Good : Tone::Plain,
      outcome.kept == 0 ? "" : fmt::format("{} of them where they run", outcome.kept));
  add("refused", refused, refused == 0 ? Tone::Plain : Tone::Bad, "");
  return table.render(style, 0);
}

// Files that would make the line too long are left to the reader.
std::string why_command(const SimulationView& view, const std::string& instance,
                        const Style& style) {
  const std::string command = "berth why --offline " + instance;
  const std::string whole = fmt::format("{} -f {}", command, fmt::join(view.files, " -f "));
  return whole.size() + 2 * kSectionIndent <= columns_of(style) ? whole : command + " -f FILE";
}

std::string reasons_section(const SimulationView& view, const Style& style) {
  const auto& refused = view.outcome.refused;
  if (refused.empty()) return "";
  Table table({{"REASON"}, {"INSTANCES", Align::Right}, {"FIRST"}});
  for (const auto& [reason, refusal] : refused) {
    table.add({{std::string(model::to_string(reason)), Tone::Bad},
               {fmt::format("{}", refusal.instances)},
               {model::to_string(refusal.first)}});
  }
  const std::string first = model::to_string(refused.begin()->second.first);
  return fmt::format("\n{}\n{}  {}\n    {}\n", style.paint("Refused", Tone::Strong),
                     table.render(style, kSectionIndent),
                     view.like.empty() ? "What each node says to it:"
                                       : "What each of the nodes that were copied says to it:",
                     printable(why_command(view, first, style)));
}

std::string label_of(std::size_t tenth) {
  return fmt::format("{}-{} %", tenth * 10, tenth * 10 + 10);
}

// So that the longest is as long as there is room for; something is never drawn as nothing.
std::string stroke(std::uint64_t count, std::uint64_t most, std::size_t room, const Style& style) {
  if (count == 0) return "";
  const std::size_t cells = std::max<std::size_t>(1, count * room / most);
  return bar_of(cells, cells, style);
}

std::string load_histogram(const SimulationView& view, const Style& style) {
  if (view.nodes == 0) return "";
  const auto& [cpu, ram] = view.load;
  const std::uint64_t most =
      std::max(*std::ranges::max_element(cpu), *std::ranges::max_element(ram));
  const std::size_t digits = std::max<std::size_t>(5, fmt::format("{}", most).size());
  const std::size_t taken = kSectionIndent + label_of(9).size() + 4 * kBetweenColumns + 2 * digits;
  const std::size_t room = std::max(columns_of(style), taken + 8) - taken;
  const std::size_t cells = std::min<std::size_t>(room / 2, 40);
  Table table({{"RESERVED", Align::Right},
               {"CPU"},
               {"NODES", Align::Right},
               {"RAM"},
               {"NODES", Align::Right}});
  for (std::size_t tenth = 0; tenth < cpu.size(); ++tenth) {
    table.add({{label_of(tenth)},
               {stroke(cpu[tenth], most, cells, style), Tone::Change},
               {fmt::format("{}", cpu[tenth])},
               {stroke(ram[tenth], most, cells, style), Tone::Change},
               {fmt::format("{}", ram[tenth])}});
  }
  return fmt::format("\n{}\n{}", style.paint("Load of nodes", Tone::Strong),
                     table.render(style, kSectionIndent));
}

}  // namespace

LoadOfNodes load_of_nodes(const placement::Cluster& cluster) {
  LoadOfNodes load;
  for (std::size_t node = 0; node < cluster.nodes().size(); ++node) {
    const model::Usage& capacity = cluster.nodes()[node].info->capacity;
    const model::Usage reserved = cluster.ledger().reserved_on(node);
    ++load.cpu[tenth_of(reserved.cpu, capacity.cpu)];
    ++load.ram[tenth_of(reserved.ram, capacity.ram)];
  }
  return load;
}

std::string simulation_text(const SimulationView& view, const Style& style) {
  return counts_section(view, style) + reasons_section(view, style) + load_histogram(view, style);
}

std::string time_taken_line(const SimulationView& view) {
  if (view.seconds < 0.001) return "Took less than 0.001 s.\n";
  return fmt::format("Took {:.3f} s: {:.0f} instances per second.\n", view.seconds,
                     static_cast<double>(view.outcome.instances) / view.seconds);
}

Json json_of(const SimulationView& view) {
  Json reasons = Json::object();
  for (const auto& [reason, refusal] : view.outcome.refused) {
    reasons[std::string(model::to_string(reason))] = refusal.instances;
  }
  return {{"nodes", view.nodes},
          {"instances", view.outcome.instances},
          {"placed", view.outcome.placed},
          {"refused", view.outcome.refused_count()},
          {"refusedByReason", std::move(reasons)},
          {"seconds", std::round(view.seconds * 1000) / 1000},
          {"load", {{"cpu", view.load.cpu}, {"ram", view.load.ram}}}};
}

}  // namespace berth::cli
