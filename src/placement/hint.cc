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
  std::int64_t size = 0;  // to compare changes of one effort
  std::string text;
};

using Changes = std::vector<Change>;

// All the changes that one slot needs for one image.
struct Remedy {
  Changes changes;

  Effort hardest() const { return std::ranges::max_element(changes, {}, &Change::effort)->effort; }
  std::int64_t size() const { return std::ranges::max_element(changes, {}, &Change::size)->size; }
  friend std::weak_ordering operator<=>(const Remedy& a, const Remedy& b) {
    if (a.changes.size() != b.changes.size()) return a.changes.size() <=> b.changes.size();
    if (a.hardest() != b.hardest()) return a.hardest() <=> b.hardest();
    return a.size() <=> b.size();
  }
};

struct Site {
  const Pipeline& pipeline;
  const Ask& request;
  std::uint32_t image;
  std::size_t node;
  std::optional<std::size_t> runtime;
  Purpose purpose;

  const SnapshotNode& view() const { return pipeline.nodes()[node]; }
  const model::Runtime& runtime_view() const { return view().info->runtimes[*runtime]; }
  const std::string& name() const { return view().id.value(); }
  Slot slot() const { return {node, runtime.value_or(0)}; }
  const Ledger& ledger() const { return pipeline.ledger(); }
  Amounts asked() const { return pipeline.asked(request, *request.item, node); }
  SystemUsage system_usage() const {
    return purpose == Purpose::Keep ? SystemUsage::Ignored : SystemUsage::Counted;
  }
};

std::string slot_name(const Site& site) {
  return fmt::format("{}/{}", site.name(), site.runtime_view().id.value());
}

std::string repair(const Site& site, const model::Runtime& runtime) {
  return fmt::format("repair runtime {} of {} ({})", runtime.id.value(), site.name(),
                     model::to_string(runtime.ready));
}

std::string types_of(const Site& site) {
  std::vector<std::string_view> types;
  const model::Item& item = *site.request.item;
  for (const auto type : model::runtime_types_of(item, item.images[site.image])) {
    types.push_back(model::to_string(type));
  }
  return fmt::format("{}", fmt::join(types, " or "));
}

Change add_runtime(const Site& site) {
  return {Effort::AddRuntime, 0,
          fmt::format("add a runtime of type {} to {}", types_of(site), site.name())};
}

// What runs is bound to its runtime; another one would not help it.
Change restore_runtime(const Site& site) {
  if (!site.runtime) {
    return {Effort::AddRuntime, 0,
            fmt::format("bring {} back", model::to_string(site.request.present->place))};
  }
  return {Effort::AddRuntime, 0,
          fmt::format("make {} a runtime of type {}", slot_name(site), types_of(site))};
}

Changes reconnect(const Site& site) {
  Changes changes;
  const model::NodeState state = site.view().info->state;
  if (state != model::NodeState::Provisioned) {
    changes.push_back(
        {Effort::Reconnect, 0,
         fmt::format("make {} provisioned (it is {})", site.name(), model::to_string(state))});
  }
  if (site.view().reachability != Reachability::Connected) {
    changes.push_back({Effort::Reconnect, 0, fmt::format("connect {}", site.name())});
  }
  return changes;
}

Changes make_usable(const Site& site) {
  Changes changes;
  if (site.view().cordoned) {
    changes.push_back({Effort::Uncordon, 0, fmt::format("uncordon {}", site.name())});
  }
  if (!site.view().info->store_problem.empty()) {
    changes.push_back({Effort::Repair, 0, fmt::format("make room on the disk of {}", site.name())});
  }
  const auto& tolerates = site.request.item->tolerates;
  if (site.view().ready || tolerates.contains(model::Toleration::NodeNotReady)) return changes;
  const model::Runtime* primary = site.view().primary;
  changes.push_back(primary == nullptr ? add_runtime(site)
                                       : Change{Effort::Repair, 0, repair(site, *primary)});
  return changes;
}

Change all_labels(const Site& site) {
  std::vector<std::string> missing;
  for (const std::string& label : site.request.labels) {
    if (!site.view().settings.labels.contains(label)) missing.push_back(label);
  }
  return {Effort::Label, static_cast<std::int64_t>(missing.size()),
          fmt::format("label {} {}", site.name(), fmt::join(missing, " "))};
}

Changes all_resources(const Site& site) {
  Changes changes;
  for (const std::string& resource : site.request.item->shared_resources) {
    if (!site.ledger().lists_shared(site.node, resource)) {
      changes.push_back(
          {Effort::AddRuntime, 0, fmt::format("add {} to {}", resource, site.name())});
      continue;
    }
    const std::int64_t missing = 1 - site.ledger().shared_left(site.node, resource).value_or(1);
    if (site.request.item->skip_resource_limits || missing <= 0) continue;
    const std::string units = missing == 1 ? "" : fmt::format("{} ", missing);
    changes.push_back(
        {Effort::Free, missing, fmt::format("free {}{} on {}", units, resource, site.name())});
  }
  return changes;
}

Change add_image(const Site& site) {
  const model::Platform& offered = site.runtime_view().platform;
  std::vector<std::string> parts;
  for (const std::string& part : {offered.os, offered.arch, offered.variant}) {
    if (!part.empty()) parts.push_back(part);
  }
  return {Effort::AddImage, 0,
          fmt::format("add an image that {} can run ({})", slot_name(site), fmt::join(parts, "/"))};
}

std::int64_t parts_per_million(std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(1e6 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string in_words(Dmips cpu) { return fmt::format("{} DMIPS", cpu.count()); }
std::string in_words(Bytes bytes) { return human(bytes); }

// An amount that is short. `left` is exact: below 0 where what runs was kept past the rules.
template <class Q>
struct Short {
  Q asked;
  Q left;
  Q when_empty;
  std::string place;
  std::string what;  // " of ram"
};

// An amount can be freed only if the place is big enough when empty; otherwise less must be asked.
template <class Q>
Change free_amount(const Short<Q>& amount) {
  const bool big_enough = amount.asked <= amount.when_empty;
  const Q missing = amount.asked - (big_enough ? amount.left : std::max(amount.left, Q{}));
  const std::int64_t size = parts_per_million(missing.count(), amount.asked.count());
  const std::string words = in_words(missing) + amount.what;
  if (big_enough) {
    return {Effort::Free, size, fmt::format("free {} on {}", words, amount.place)};
  }
  return {Effort::Lower, size,
          fmt::format("ask for {} less, which {} would have", words, amount.place)};
}

// Where the runtime's cap is short, room of another runtime would not help.
template <class Q>
Change free_capped(const Site& site, Short<Q> amount, std::optional<Q> cap_left, Q cap) {
  if (!cap_left) return free_amount(amount);
  if (*cap_left < amount.asked) amount.place = slot_name(site);
  amount.left = std::min(amount.left, *cap_left);
  amount.when_empty = std::min(amount.when_empty, cap);
  return free_amount(amount);
}

Change free_cpu(const Site& site) {
  const Dmips left = site.ledger().node_cpu_left(site.node, site.system_usage());
  const Short<Dmips> amount{.asked = site.asked().cpu,
                            .left = left,
                            .when_empty = left + site.ledger().reserved_on(site.node).cpu,
                            .place = site.name(),
                            .what = ""};
  if (!site.runtime) return free_amount(amount);
  return free_capped(site, amount, site.ledger().runtime_cpu_left(site.slot()),
                     site.runtime_view().limits.cpu);
}

Change free_ram(const Site& site) {
  const Bytes left = site.ledger().node_ram_left(site.node, site.system_usage());
  const Short<Bytes> amount{.asked = site.asked().ram,
                            .left = left,
                            .when_empty = left + site.ledger().reserved_on(site.node).ram,
                            .place = site.name(),
                            .what = " of ram"};
  if (!site.runtime) return free_amount(amount);
  return free_capped(site, amount, site.ledger().runtime_ram_left(site.slot()),
                     site.runtime_view().limits.ram);
}

Change free_storage(const Site& site) {
  return free_amount<Bytes>({.asked = site.asked().storage,
                             .left = *site.ledger().storage_left(site.node),
                             .when_empty = *site.view().info->partitions.storage,
                             .place = site.name(),
                             .what = " of storage"});
}

// On the same partition, what storage lacks is a change of its own, after which nothing is left.
Change free_state(const Site& site) {
  const model::Partitions& partitions = site.view().info->partitions;
  const Amounts asked = site.asked();
  Short<Bytes> amount{.asked = asked.state,
                      .left = *site.ledger().state_left(site.node, asked.storage),
                      .when_empty = Bytes{},
                      .place = site.name(),
                      .what = " of state"};
  if (!partitions.same_partition) {
    amount.when_empty = *partitions.state;
    return free_amount(amount);
  }
  amount.when_empty = *partitions.storage - asked.storage;
  const bool storage_is_short =
      std::max(*site.ledger().storage_left(site.node), Bytes{}) < asked.storage;
  if (storage_is_short) amount.left = Bytes{};
  return free_amount(amount);
}

// One, unless what runs was kept past the limit.
Change stop_instances(const Site& site) {
  const std::int64_t missing = 1 - *site.ledger().instances_left(site.slot());
  const std::string what = missing == 1 ? "an instance" : fmt::format("{} instances", missing);
  return {Effort::Free, missing, fmt::format("stop {} on {}", what, slot_name(site))};
}

Changes changes_for(const Site& site, Reason reason) {
  switch (reason) {
    case Reason::NoConnectedNodes: return reconnect(site);
    case Reason::NoUsableNodes: return make_usable(site);
    case Reason::NoMatchingNodeId:
      return {{Effort::AllowNode, 0, fmt::format("allow node {}", site.name())}};
    case Reason::NoMatchingLabels: return {all_labels(site)};
    case Reason::NoMatchingResources: return all_resources(site);
    case Reason::NoMatchingRuntimeType:
      return {site.purpose == Purpose::Keep ? restore_runtime(site) : add_runtime(site)};
    case Reason::NoMatchingPlatform: return {add_image(site)};
    case Reason::RuntimeNotReady: return {{Effort::Repair, 0, repair(site, site.runtime_view())}};
    case Reason::InsufficientCpu: return {free_cpu(site)};
    case Reason::InsufficientRam: return {free_ram(site)};
    case Reason::InsufficientStorage: return {free_storage(site)};
    case Reason::InsufficientState: return {free_state(site)};
    case Reason::InstanceLimitReached: return {stop_instances(site)};
    case Reason::AboveMaxThreshold:
      return {{Effort::Free, 0, fmt::format("relieve node {}", site.name())}};
    case Reason::FailedThere:
      return {{Effort::Repair, 0, fmt::format("repair what keeps it from {}", site.name())}};
  }
  CHECK(false, "unknown reason");
}

Remedy remedy_for(const Site& site) {
  Remedy remedy;
  for (const auto& [reason, shortfall] : site.pipeline.all_refusals(
           site.request, site.image, site.node, site.runtime, site.purpose)) {
    for (Change& change : changes_for(site, reason)) {
      // One change can serve two rules: the primary runtime makes the node Ready and is ready
      // itself.
      const bool known = std::ranges::any_of(
          remedy.changes, [&](const Change& other) { return other.text == change.text; });
      if (!known) remedy.changes.push_back(std::move(change));
    }
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

std::vector<std::size_t> by_node_id(const std::vector<SnapshotNode>& nodes) {
  std::vector<std::size_t> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return nodes[i].id; });
  return order;
}

}  // namespace

std::string hint_to_place(const Pipeline& pipeline, const Ask& request) {
  if (pipeline.nodes().empty()) return "let a node join";
  std::vector<Remedy> remedies;
  for (const std::size_t node : by_node_id(pipeline.nodes())) {
    const std::size_t runtimes = pipeline.nodes()[node].info->runtimes.size();
    for (std::uint32_t image = 0; image < request.item->images.size(); ++image) {
      for (std::size_t i = 0; i < std::max<std::size_t>(runtimes, 1); ++i) {
        const Site site{
            pipeline,      request, image, node, runtimes == 0 ? std::nullopt : std::optional(i),
            Purpose::Place};
        if (may_help(site)) remedies.push_back(remedy_for(site));
      }
    }
  }
  return best_of(std::move(remedies));
}

std::string hint_to_keep(const Pipeline& pipeline, const Ask& request, std::size_t node,
                         std::optional<std::size_t> runtime) {
  std::vector<Remedy> remedies;
  for (std::uint32_t image = 0; image < request.item->images.size(); ++image) {
    Remedy remedy = remedy_for({pipeline, request, image, node, runtime, Purpose::Keep});
    if (!remedy.changes.empty()) remedies.push_back(std::move(remedy));
  }
  return best_of(std::move(remedies));
}

}  // namespace berth::placement
