#include "cli/show/top_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/show/figures.h"

namespace berth::cli {
namespace {

Tone tone_of_share(std::int64_t percent) {
  return percent >= 90 ? Tone::Bad : percent >= 75 ? Tone::Warning : Tone::Good;
}

std::string percent_text(std::int64_t part, std::int64_t whole) {
  return fmt::format("{}%", percent_of(part, whole));
}

// A bar of what is used (of what is reserved, where nobody has measured), and both figures.
void add_load(std::vector<Cell>& row, std::int64_t used, std::int64_t reserved,
              std::int64_t capacity, bool measured, const Style& style) {
  const std::int64_t shown = measured ? used : reserved;
  row.push_back({bar(shown, capacity, style), tone_of_share(percent_of(shown, capacity))});
  row.push_back({measured ? percent_text(used, capacity) : "?"});
  row.push_back({percent_text(reserved, capacity), Tone::Dim});
}

std::string rate(std::int64_t bytes_per_second) {
  return bytes_per_second == 0 ? "-" : human(Bytes(bytes_per_second)) + "/s";
}

void add_traffic(std::vector<Cell>& row, const v1::Traffic& traffic) {
  row.push_back({rate(traffic.received())});
  row.push_back({rate(traffic.sent())});
}

// The fullest of its partitions: that is the one to look at.
Cell disk_cell(const v1::Node& node) {
  std::int64_t highest = -1;
  for (const v1::PartitionUsage& partition : node.partitions()) {
    highest = std::max(highest, percent_of(partition.used(), partition.size()));
  }
  if (highest < 0) return {"?"};
  return {fmt::format("{}%", highest), tone_of_share(highest)};
}

// Here the figures count more than why it is in its state.
Cell state_cell(const v1::Instance& instance) {
  const std::string text = state_text(instance);
  return {text, tone_of(instance), text.substr(0, text.find('('))};
}

}  // namespace

std::string top_nodes(const std::vector<v1::Node>& nodes, const Style& style) {
  Table table({{"NODE"},
               {"STATE"},
               {"INSTANCES", Align::Right, 6},
               {"CPU", Align::Left, 2},
               {"USED", Align::Right},
               {"RESERVED", Align::Right, 4},
               {"RAM", Align::Left, 1},
               {"USED", Align::Right},
               {"RESERVED", Align::Right, 5},
               {"DISK", Align::Right, 3},
               {"RECEIVES", Align::Right, 7},
               {"SENDS", Align::Right, 8}});
  for (const v1::Node& node : nodes) {
    std::vector<Cell> row{
        {node.name()}, {state_text(node), tone_of(node)}, {std::to_string(node.instances())}};
    add_load(row, node.used().cpu(), node.reserved().cpu(), node.capacity().cpu(), node.measured(),
             style);
    add_load(row, node.used().ram(), node.reserved().ram(), node.capacity().ram(), node.measured(),
             style);
    row.push_back(disk_cell(node));
    add_traffic(row, node.traffic());
    table.add(std::move(row));
  }
  return table.empty() ? "There are no nodes.\n" : table.render(style, 0);
}

std::string top_instances(const std::vector<v1::Instance>& instances, const Style& style) {
  Table table({{"INSTANCE"},
               {"STATE"},
               {"NODE"},
               {"CPU", Align::Right},
               {"RAM", Align::Right},
               {"STORAGE", Align::Right, 1},
               {"STATE SIZE", Align::Right, 2},
               {"RECEIVES", Align::Right, 3},
               {"SENDS", Align::Right, 4}});
  for (const v1::Instance& instance : instances) {
    std::vector<Cell> row{{name_of(instance)},
                          state_cell(instance),
                          {instance.place().node()},
                          {human(Dmips(instance.usage().cpu()))},
                          {human(Bytes(instance.usage().ram()))},
                          {human(Bytes(instance.footprint().storage()))},
                          {human(Bytes(instance.footprint().state()))}};
    add_traffic(row, instance.footprint().traffic());
    table.add(std::move(row));
  }
  return table.empty() ? "There are no instances.\n" : table.render(style, 0);
}

std::vector<v1::Instance> by_appetite(std::vector<v1::Instance> instances) {
  std::ranges::stable_sort(instances, {}, [](const v1::Instance& instance) {
    return std::tuple(-instance.usage().cpu(), -instance.usage().ram(), key_of(instance.key()));
  });
  return instances;
}

}  // namespace berth::cli
