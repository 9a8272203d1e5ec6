#include "placement/hint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <vector>

#include "base/check.h"
#include "placement/verdict.h"

namespace berth::placement {
namespace {

// How hard a change is, from a matter of stopping something to one of buying something.
enum class Effort {
  Free,
  Label,
  Uncordon,
  AllowNode,
  Repair,
  Reconnect,
  AddImage,
  Lower,
  AddRuntime
};

struct Change {
  Effort effort = Effort::Free;
  std::int64_t percent = 0;  // of what is asked, for amounts
  std::string text;
};

// All the changes that one slot needs for one image.
struct Remedy {
  std::vector<Change> changes;

  Effort hardest() const { return std::ranges::max_element(changes, {}, &Change::effort)->effort; }
  std::int64_t percent() const {
    return std::ranges::max_element(changes, {}, &Change::percent)->percent;
  }
  friend std::weak_ordering operator<=>(const Remedy& a, const Remedy& b) {
    if (a.changes.size() != b.changes.size()) return a.changes.size() <=> b.changes.size();
    if (a.hardest() != b.hardest()) return a.hardest() <=> b.hardest();
    return a.percent() <=> b.percent();
  }
};

struct Site {
  const Pipeline& pipeline;
  const Request& request;
  std::uint32_t image;
  std::size_t node;
  std::optional<std::size_t> runtime;

  const NodeView& view() const { return pipeline.nodes()[node]; }
  const model::Runtime& runtime_view() const { return view().info->runtimes[*runtime]; }
  const std::string& name() const { return view().id.value(); }
  Slot slot() const { return {node, runtime.value_or(0)}; }
};

std::string repair(const Site& site, const model::Runtime& runtime) {
  return fmt::format("repair runtime {} of {} ({})", runtime.id.value(), site.name(),
                     model::to_string(runtime.ready));
}

Change reconnect(const Site& site) {
  const model::NodeState state = site.view().info->state;
  if (state != model::NodeState::Provisioned) {
    return {Effort::Reconnect, 0,
            fmt::format("make {} provisioned (it is {})", site.name(), model::to_string(state))};
  }
  return {Effort::Reconnect, 0, fmt::format("connect {}", site.name())};
}

Change make_usable(const Site& site) {
  if (site.view().cordoned) return {Effort::Uncordon, 0, fmt::format("uncordon {}", site.name())};
  const model::Runtime* primary = model::primary_runtime(*site.view().info);
  if (primary == nullptr) return {Effort::AddRuntime, 0, "give " + site.name() + " a runtime"};
  return {Effort::Repair, 0, repair(site, *primary)};
}

Change all_labels(const Site& site) {
  std::vector<std::string> missing;
  for (const std::string& label : site.request.run->labels) {
    if (!site.view().settings.labels.contains(label)) missing.push_back(label);
  }
  return {Effort::Label, static_cast<std::int64_t>(missing.size()),
          fmt::format("label {} {}", site.name(), fmt::join(missing, " "))};
}

Change all_resources(const Site& site) {
  std::vector<std::string> texts;
  Effort effort = Effort::Free;
  const Ledger& ledger = site.pipeline.ledger();
  for (const std::string& resource : site.request.item->shared_resources) {
    if (!ledger.lists_shared(site.node, resource)) {
      effort = Effort::AddRuntime;
      texts.push_back(fmt::format("add {} to {}", resource, site.name()));
    } else if (!site.request.item->skip_resource_limits &&
               ledger.shared_left(site.node, resource).value_or(1) < 1) {
      texts.push_back(fmt::format("free {} on {}", resource, site.name()));
    }
  }
  return {effort, 0, fmt::format("{}", fmt::join(texts, " and "))};
}

Change add_runtime(const Site& site) {
  std::vector<std::string_view> types;
  const model::Item& item = *site.request.item;
  for (const auto type : model::runtime_types_of(item, item.images[site.image])) {
    types.push_back(model::to_string(type));
  }
  return {Effort::AddRuntime, 0,
          fmt::format("add a runtime of type {} to {}", fmt::join(types, " or "), site.name())};
}

Change add_image(const Site& site) {
  const model::Platform& offered = site.runtime_view().platform;
  return {Effort::AddImage, 0,
          fmt::format("add an image for {}/{} (runtime {} of {})", offered.os, offered.arch,
                      site.runtime_view().id.value(), site.name())};
}

std::int64_t percent_of(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0
                    : static_cast<std::int64_t>(100.0 * static_cast<double>(part) /
                                                static_cast<double>(whole));
}

// An amount can be freed only if the place is big enough when empty; otherwise less must be asked.
struct Metered {
  std::string amount;  // what is short: "188 DMIPS", "64 MiB of ram"
  std::string place;   // where it must be freed
  bool fits_when_empty = true;
};

Change free_amount(const Shortfall& shortfall, const Metered& metered) {
  const std::int64_t percent = percent_of(*shortfall.asked - *shortfall.has, *shortfall.asked);
  if (metered.fits_when_empty) {
    return {Effort::Free, percent, fmt::format("free {} on {}", metered.amount, metered.place)};
  }
  return {Effort::Lower, percent,
          fmt::format("ask for {} less, which {} would have", metered.amount, metered.place)};
}

template <class Q>
bool cap_binds(std::optional<Q> cap_left, Q node_left) {
  return cap_left && *cap_left < node_left;
}

std::string slot_name(const Site& site) {
  return fmt::format("{}/{}", site.name(), site.runtime_view().id.value());
}

Change free_cpu(const Site& site, const Shortfall& shortfall) {
  const Ledger& ledger = site.pipeline.ledger();
  const Dmips left = ledger.node_cpu_left(site.node, SystemUsage::Counted);
  const Dmips empty = left + ledger.reserved_on(site.node).cpu;
  const Dmips asked{*shortfall.asked};
  const Dmips cap = site.runtime_view().limits.cpu;
  const bool by_cap = cap_binds(ledger.runtime_cpu_left(site.slot()), left);
  return free_amount(shortfall,
                     {.amount = fmt::format("{} DMIPS", *shortfall.asked - *shortfall.has),
                      .place = by_cap ? slot_name(site) : site.name(),
                      .fits_when_empty = asked <= empty && (cap == Dmips{} || asked <= cap)});
}

Change free_ram(const Site& site, const Shortfall& shortfall) {
  const Ledger& ledger = site.pipeline.ledger();
  const Bytes left = ledger.node_ram_left(site.node, SystemUsage::Counted);
  const Bytes empty = left + ledger.reserved_on(site.node).ram;
  const Bytes asked{*shortfall.asked};
  const Bytes cap = site.runtime_view().limits.ram;
  const bool by_cap = cap_binds(ledger.runtime_ram_left(site.slot()), left);
  return free_amount(shortfall,
                     {.amount = human(Bytes{*shortfall.asked - *shortfall.has}) + " of ram",
                      .place = by_cap ? slot_name(site) : site.name(),
                      .fits_when_empty = asked <= empty && (cap == Bytes{} || asked <= cap)});
}

Change free_partition(const Site& site, const Shortfall& shortfall, const char* what,
                      std::optional<Bytes> size) {
  return free_amount(shortfall,
                     {.amount = human(Bytes{*shortfall.asked - *shortfall.has}) + " of " + what,
                      .place = site.name(),
                      .fits_when_empty = !size || Bytes{*shortfall.asked} <= *size});
}

Change change_for(const Site& site, Reason reason, const Shortfall& shortfall) {
  const model::Partitions& partitions = site.view().info->partitions;
  switch (reason) {
    case Reason::NoConnectedNodes: return reconnect(site);
    case Reason::NoUsableNodes: return make_usable(site);
    case Reason::NoMatchingNodeId:
      return {Effort::AllowNode, 0, fmt::format("allow node {}", site.name())};
    case Reason::NoMatchingLabels: return all_labels(site);
    case Reason::NoMatchingResources: return all_resources(site);
    case Reason::NoMatchingRuntimeType: return add_runtime(site);
    case Reason::NoMatchingPlatform: return add_image(site);
    case Reason::RuntimeNotReady: return {Effort::Repair, 0, repair(site, site.runtime_view())};
    case Reason::InsufficientCpu: return free_cpu(site, shortfall);
    case Reason::InsufficientRam: return free_ram(site, shortfall);
    case Reason::InsufficientStorage:
      return free_partition(site, shortfall, "storage", partitions.storage);
    case Reason::InsufficientState:
      return free_partition(site, shortfall, "state",
                            partitions.same_partition ? partitions.storage : partitions.state);
    case Reason::InstanceLimitReached:
      return {Effort::Free, 0, fmt::format("stop an instance on {}", slot_name(site))};
  }
  CHECK(false, "unknown reason");
}

Remedy remedy_for(const Site& site, Purpose purpose) {
  Remedy remedy;
  for (const auto& [reason, shortfall] :
       site.pipeline.all_refusals(site.request, site.image, site.node, site.runtime, purpose)) {
    const Change change = change_for(site, reason, shortfall);
    // One repair can serve two rules: the primary runtime makes the node Ready and is ready itself.
    const bool known = std::ranges::any_of(
        remedy.changes, [&](const Change& other) { return other.text == change.text; });
    if (!known) remedy.changes.push_back(change);
  }
  return remedy;
}

// A generated component belongs to its runtime: allowing another node would not help it.
bool may_help(const Site& site) {
  const auto& own = site.request.own_runtime;
  if (!own) return true;
  return own->node == site.view().id && site.runtime && own->runtime == site.runtime_view().id;
}

std::string text_of(const Remedy& remedy) {
  std::vector<std::string> texts;
  for (const Change& change : remedy.changes) texts.push_back(change.text);
  return fmt::format("{}", fmt::join(texts, " and "));
}

// The best remedy, and the best one of another sort if it takes no more changes.
std::string best_of(std::vector<Remedy> remedies) {
  if (remedies.empty()) return "";
  std::ranges::stable_sort(remedies, [](const Remedy& a, const Remedy& b) { return a < b; });
  const Remedy& best = remedies.front();
  const auto other = std::ranges::find_if(remedies, [&](const Remedy& remedy) {
    return remedy.changes.size() == best.changes.size() && remedy.hardest() != best.hardest();
  });
  if (best.changes.size() > 1 || other == remedies.end()) return text_of(best);
  return fmt::format("{}, or {}", text_of(best), text_of(*other));
}

std::vector<std::size_t> by_node_id(const std::vector<NodeView>& nodes) {
  std::vector<std::size_t> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return nodes[i].id; });
  return order;
}

}  // namespace

std::string hint_to_place(const Pipeline& pipeline, const Request& request) {
  if (pipeline.nodes().empty()) return "let a node join";
  std::vector<Remedy> remedies;
  for (const std::size_t node : by_node_id(pipeline.nodes())) {
    const std::size_t runtimes = pipeline.nodes()[node].info->runtimes.size();
    for (std::uint32_t image = 0; image < request.item->images.size(); ++image) {
      for (std::size_t i = 0; i < std::max<std::size_t>(runtimes, 1); ++i) {
        const Site site{pipeline, request, image, node,
                        runtimes == 0 ? std::nullopt : std::optional(i)};
        if (may_help(site)) remedies.push_back(remedy_for(site, Purpose::Place));
      }
    }
  }
  return best_of(std::move(remedies));
}

std::string hint_to_keep(const Pipeline& pipeline, const Request& request, std::size_t node,
                         std::optional<std::size_t> runtime) {
  std::vector<Remedy> remedies;
  for (std::uint32_t image = 0; image < request.item->images.size(); ++image) {
    Remedy remedy = remedy_for({pipeline, request, image, node, runtime}, Purpose::Keep);
    if (!remedy.changes.empty()) remedies.push_back(std::move(remedy));
  }
  return best_of(std::move(remedies));
}

}  // namespace berth::placement
