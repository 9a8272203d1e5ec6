#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/show/figures.h"
#include "cli/show/plan_table.h"
#include "cli/show/table.h"
#include "placement/asked.h"

// What starts, stays, moves, is updated and stops, one row each or one row for many equal ones.
namespace berth::cli {
namespace {

using placement::Action;
using placement::Placement;

// Placements that differ in nothing but their index.
struct PlacementGroup {
  const Placement* first = nullptr;
  std::vector<std::uint32_t> indices;
};

auto alike(const Placement& p) {
  return std::tie(p.key.item, p.key.subject, p.version, p.place, p.image, p.action, p.from);
}

std::vector<PlacementGroup> one_each(const std::vector<Placement>& placements) {
  std::vector<PlacementGroup> groups;
  for (const Placement& placement : placements) {
    groups.push_back({&placement, {placement.key.index}});
  }
  return groups;
}

// In the order of their first members.
std::vector<PlacementGroup> grouped(const std::vector<Placement>& placements,
                                    const PlanView& view) {
  std::vector<PlacementGroup> groups;
  const auto less = [&](const Placement* a, const Placement* b) {
    const auto downtime = downtime_of(*a, view);
    const auto other = downtime_of(*b, view);
    return downtime == other ? alike(*a) < alike(*b) : downtime < other;
  };
  std::map<const Placement*, std::size_t, decltype(less)> known(less);
  for (const Placement& placement : placements) {
    const auto [it, is_new] = known.emplace(&placement, groups.size());
    if (is_new) groups.push_back({&placement, {}});
    groups[it->second].indices.push_back(placement.key.index);
  }
  for (PlacementGroup& group : groups) std::ranges::sort(group.indices);
  return groups;
}

Tone tone_of_action(Action action) {
  switch (action) {
    case Action::Start: return Tone::Good;
    case Action::Keep: return Tone::Dim;
    case Action::Move: return Tone::Warning;
    case Action::Update:
    case Action::Restart: return Tone::Change;
  }
  return Tone::Plain;
}

struct ImageText {
  std::string operator()(const model::OciImage& image) const { return image.reference; }
  std::string operator()(const model::CommandImage& image) const {
    return fmt::format("{}", fmt::join(image.argv, " "));
  }
  std::string operator()(const model::WasmImage& image) const { return image.module; }
  std::string operator()(const model::VmImage& image) const { return image.kernel; }
  std::string operator()(const model::RootfsImage& image) const { return image.archive; }
  std::string operator()(const model::BootImage& image) const { return image.image; }
  std::string operator()(const model::FirmwareImage& image) const {
    return fmt::format("{}", fmt::join(image.install, " "));
  }
};

std::string image_text(const model::Item* item, std::uint32_t image) {
  if (item == nullptr || image >= item->images.size()) return std::to_string(image);
  return fmt::format("{}: {}", image, std::visit(ImageText{}, item->images[image].form));
}

// What the placement reserves of cpu and ram on its node.
placement::Amounts reserved_by(const Placement& placement, const placement::Directory& directory) {
  const model::Item* item = directory.item(placement.key.item, placement.version);
  const placement::SnapshotNode* node = directory.node(placement.place.node);
  if (item == nullptr || node == nullptr) return {};
  return placement::asked_of(*item, node->info->capacity, node->settings);
}

std::vector<Cell> wide_cells(const Placement& placement, const placement::Directory& directory) {
  const model::Item* item = directory.item(placement.key.item, placement.version);
  const model::RunRequest* run = directory.run_request(placement.key);
  const placement::Amounts asked = reserved_by(placement, directory);
  return {{run == nullptr ? "" : std::to_string(run->priority)},
          {item == nullptr ? "" : std::string(model::to_string(item->type))},
          {item == nullptr ? "" : item->owner.value()},
          {std::to_string(asked.cpu.count())},
          {human(asked.ram)},
          {image_text(item, placement.image)}};
}

std::string note_on(const Placement& placement) {
  if (placement.leaves_state) return "state too large, stays behind";
  return placement.leaves_storage ? "storage stays behind" : "";
}

std::string downtime_text(std::optional<placement::Downtime> downtime) {
  if (!downtime) return "";
  switch (*downtime) {
    case placement::Downtime::None: return "none";
    case placement::Downtime::StopsFirst: return "stops first";
    case placement::Downtime::Restarts: return "restarts";
    case placement::Downtime::DownNow: return "is down now";
  }
  return "";
}

std::vector<Cell> row_of(const PlacementGroup& group, const PlanView& view) {
  const Placement& placement = *group.first;
  const auto downtime = downtime_of(placement, view);
  std::vector<Cell> row{
      {std::string(model::to_string(placement.action)), tone_of_action(placement.action)},
      {fmt::format("{}/{}/{}", placement.key.item.value(), placement.key.subject.value(),
                   index_ranges(group.indices))},
      {group.indices.size() == 1 ? "" : fmt::format("x{}", group.indices.size()), Tone::Dim},
      {placement.version},
      {model::to_string(placement.place)},
      {placement.from ? model::to_string(*placement.from) : ""},
      {downtime_text(downtime), interrupts(downtime) ? Tone::Warning : Tone::Plain},
      {note_on(placement), Tone::Warning}};
  if (view.detail == Detail::Wide)
    std::ranges::move(wide_cells(placement, view.directory), std::back_inserter(row));
  return row;
}

std::vector<Column> columns(Detail detail) {
  std::vector<Column> columns{{"ACTION"},   {"INSTANCE"},     {"COUNT", Align::Right},
                              {"VERSION"},  {"NODE/RUNTIME"}, {"FROM"},
                              {"DOWNTIME"}, {"NOTE"}};
  if (detail == Detail::Wide) {
    for (Column& column : std::vector<Column>{{"PRIORITY", Align::Right},
                                              {"TYPE"},
                                              {"OWNER"},
                                              {"CPU", Align::Right},
                                              {"RAM", Align::Right},
                                              {"IMAGE"}}) {
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

// What is shown row by row, and how many placements are only counted.
struct Selection {
  std::vector<PlacementGroup> groups;
  std::size_t kept = 0;
};

Selection select(const PlanView& view) {
  if (view.detail == Detail::Wide || view.plan.placements.size() <= kReadableRows) {
    return {one_each(view.plan.placements), 0};
  }
  Selection selection{grouped(view.plan.placements, view), 0};
  std::erase_if(selection.groups, [&](const PlacementGroup& group) {
    if (group.first->action != Action::Keep) return false;
    selection.kept += group.indices.size();
    return true;
  });
  return selection;
}

std::string kept_line(std::size_t kept, const Style& style) {
  return style.paint(fmt::format("  keep    {} where {} (-o wide lists all)\n",
                                 counted(kept, "instance"), kept == 1 ? "it is" : "they are"),
                     Tone::Dim);
}

}  // namespace

std::string placements_section(const PlanView& view) {
  if (view.plan.placements.empty()) return "";
  const Selection selection = select(view);
  Table table(columns(view.detail));
  for (const PlacementGroup& group : selection.groups) table.add(row_of(group, view));
  std::string out = view.style.paint("Instances", Tone::Strong) + "\n";
  if (!table.empty()) out += table.render(view.style, 2);
  if (selection.kept > 0) out += kept_line(selection.kept, view.style);
  return out;
}

std::string stops_section(const PlanView& view) {
  if (view.plan.stops.empty()) return "";
  std::vector<Placement> as_placements;
  for (const placement::Stop& stop : view.plan.stops) {
    as_placements.push_back(
        {.key = stop.key, .version = stop.version, .place = stop.place, .from = std::nullopt});
  }
  const bool many = view.detail == Detail::Short && as_placements.size() > kReadableRows;
  Table table({{"INSTANCE"}, {"COUNT", Align::Right}, {"VERSION"}, {"NODE/RUNTIME"}});
  for (const PlacementGroup& group :
       many ? grouped(as_placements, view) : one_each(as_placements)) {
    const model::InstanceKey& key = group.first->key;
    table.add({{fmt::format("{}/{}/{}", key.item.value(), key.subject.value(),
                            index_ranges(group.indices))},
               {group.indices.size() == 1 ? "" : fmt::format("x{}", group.indices.size())},
               {group.first->version},
               {model::to_string(group.first->place)}});
  }
  return view.style.paint("Stops", Tone::Strong) + "\n" + table.render(view.style, 2);
}

}  // namespace berth::cli
