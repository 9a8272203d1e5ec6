#include "placement/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/check.h"

namespace berth::placement {
namespace {

std::string connection_detail(const NodeView& node) {
  if (node.info->state != model::NodeState::Provisioned) {
    return fmt::format("is {}", model::to_string(node.info->state));
  }
  return "is not connected";
}

std::string usable_detail(const NodeView& node) {
  if (node.drain != Drain::No) return "is being drained";
  if (node.cordoned) return "is cordoned";
  const model::Runtime* primary = model::primary_runtime(*node.info);
  if (primary == nullptr) return "has no runtime";
  return fmt::format("is not Ready: its primary runtime {} is {}", primary->id.value(),
                     model::to_string(primary->ready));
}

std::string node_id_detail(const NodeView& node, const Request& request) {
  const auto& own = request.own_runtime;
  if (!own || own->node == node.id) return "is not among the nodes named";
  return fmt::format("the instance belongs to {}", model::to_string(*own));
}

std::string resource_detail(const NodeView& node, const std::string& resource) {
  const auto& listed = node.info->shared_resources;
  const bool has_some =
      std::ranges::find(listed, resource, &model::SharedResource::name) != listed.end();
  return fmt::format("has no {}{}", resource, has_some ? " left" : "");
}

// The first thing in which the runtime differs from what the image names.
std::string platform_detail(const model::Platform& needs, const model::Runtime& runtime) {
  const model::Platform& offers = runtime.platform;
  const std::array<std::tuple<const char*, const std::string*, const std::string*>, 4> parts{{
      {"arch", &needs.arch, &offers.arch},
      {"os", &needs.os, &offers.os},
      {"variant", &needs.variant, &offers.variant},
      {"os version", &needs.os_version, &offers.os_version},
  }};
  for (const auto& [what, needed, offered] : parts) {
    if (needed->empty() || *needed == *offered) continue;
    return fmt::format("{} has {} {}, not {}", runtime.id.value(), what,
                       offered->empty() ? "none" : *offered, *needed);
  }
  for (const std::string& feature : needs.os_features) {
    if (!offers.os_features.contains(feature)) {
      return fmt::format("{} lacks os feature {}", runtime.id.value(), feature);
    }
  }
  CHECK(false, "the platform differs in something");
}

std::string amounts(const Shortfall& shortfall, const char* what) {
  return fmt::format("asked {}, has {} of {}", human(Bytes{*shortfall.asked}),
                     human(Bytes{*shortfall.has}), what);
}

std::string runtime_type_detail(const NodeView& node, const Request& request,
                                const Verdict& verdict) {
  if (node.info->runtimes.empty()) return "has no runtime";
  if (verdict.runtime == nullptr) {
    return fmt::format("its runtime {} is gone", request.present->place.runtime.value());
  }
  std::vector<std::string_view> types;
  for (const auto& runtime : node.info->runtimes) types.push_back(model::to_string(runtime.type));
  return fmt::format("has only {}", fmt::join(types, ", "));
}

std::string detail(const NodeView& node, const Request& request, const Verdict& verdict) {
  const Shortfall& shortfall = verdict.shortfall;
  switch (verdict.reason) {
    case Reason::NoConnectedNodes: return connection_detail(node);
    case Reason::NoUsableNodes: return usable_detail(node);
    case Reason::NoMatchingNodeId: return node_id_detail(node, request);
    case Reason::NoMatchingLabels: return fmt::format("lacks label {}", *shortfall.what);
    case Reason::NoMatchingResources: return resource_detail(node, *shortfall.what);
    case Reason::NoMatchingRuntimeType: return runtime_type_detail(node, request, verdict);
    case Reason::NoMatchingPlatform:
      return platform_detail(verdict.image->platform, *verdict.runtime);
    case Reason::RuntimeNotReady:
      return fmt::format("{} is {}", verdict.runtime->id.value(),
                         model::to_string(verdict.runtime->ready));
    case Reason::InsufficientCpu:
      return fmt::format("asked {}, has {} DMIPS", *shortfall.asked, *shortfall.has);
    case Reason::InsufficientRam: return amounts(shortfall, "ram");
    case Reason::InsufficientStorage: return amounts(shortfall, "storage");
    case Reason::InsufficientState: return amounts(shortfall, "state");
    case Reason::InstanceLimitReached:
      return fmt::format("{} runs its {} instances already", verdict.runtime->id.value(),
                         verdict.runtime->limits.instances);
    case Reason::AboveMaxThreshold:
      return node.overloaded.any() ? "is overloaded itself"
                                   : "would be used above its max threshold";
  }
  CHECK(false, "unknown reason");
}

NodeVerdict describe(const NodeView& node, const Request& request, const Verdict& verdict) {
  NodeVerdict described{.node = node.id,
                        .reason = verdict.reason,
                        .asked = verdict.shortfall.asked,
                        .has = verdict.shortfall.has,
                        .runtime = {},
                        .readiness = {},
                        .detail = detail(node, request, verdict)};
  if (verdict.reason == Reason::RuntimeNotReady) {
    described.runtime = verdict.runtime->id;
    described.readiness = verdict.runtime->ready;
  }
  return described;
}

std::string outranked(const Fit& winner, const Fit& loser) {
  switch (what_decided(winner, loser)) {
    case Preference::NodePriority:
      return fmt::format("fits, but has priority {}, {} has {}", loser.priority,
                         winner.node->value(), winner.priority);
    case Preference::Cpu:
      return fmt::format("fits, but has {} DMIPS left, {} has {}", loser.cpu_left.count(),
                         winner.node->value(), winner.cpu_left.count());
    case Preference::Ram:
      return fmt::format("fits, but has {} of ram left, {} has {}", human(loser.ram_left),
                         winner.node->value(), human(winner.ram_left));
    case Preference::NodeId:
    case Preference::RuntimeType:
    case Preference::RuntimeId:
      return fmt::format("fits as well; {} comes first by name", winner.node->value());
  }
  CHECK(false, "unknown preference");
}

NodeVerdict describe(const Fit& winner, const Fit& fit) {
  NodeVerdict verdict{*fit.node, {}, {}, {}, *fit.runtime, {}, {}};
  verdict.detail =
      winner.slot == fit.slot
          ? fmt::format("best fit, on {}: {} DMIPS and {} of ram left", fit.runtime->value(),
                        fit.cpu_left.count(), human(fit.ram_left))
          : outranked(winner, fit);
  return verdict;
}

void sort_by_node(std::vector<NodeVerdict>& verdicts) {
  std::ranges::sort(verdicts, {}, &NodeVerdict::node);
}

}  // namespace

std::string human(Bytes bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::int64_t count = bytes.count();
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && count != 0 && count % 1024 == 0) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", count, kUnits[unit]);
}

std::vector<NodeVerdict> describe_all(const std::vector<NodeView>& nodes, const Request& request,
                                      const std::vector<Verdict>& verdicts) {
  std::vector<NodeVerdict> described;
  for (const Verdict& verdict : verdicts) {
    described.push_back(describe(nodes[verdict.node], request, verdict));
  }
  sort_by_node(described);
  return described;
}

std::vector<NodeVerdict> verdicts_for(const Pipeline& pipeline, const Request& request) {
  const auto choice = pipeline.choose(request);
  if (!choice) return describe_all(pipeline.nodes(), request, pipeline.reject(request).verdicts);

  const std::vector<Fit> fits = pipeline.fits(request, choice->image);
  const Fit& winner = *std::ranges::find(fits, choice->slot, &Fit::slot);
  std::vector<NodeVerdict> verdicts{describe(winner, winner)};
  for (std::size_t node = 0; node < pipeline.nodes().size(); ++node) {
    if (node == winner.slot.node) continue;
    const auto fit = std::ranges::find(fits, node, [](const Fit& f) { return f.slot.node; });
    verdicts.push_back(fit != fits.end()
                           ? describe(winner, *fit)
                           : describe(pipeline.nodes()[node], request,
                                      pipeline.reject_on(request, choice->image, node)));
  }
  sort_by_node(verdicts);
  return verdicts;
}

}  // namespace berth::placement
