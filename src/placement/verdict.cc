#include "placement/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/check.h"
#include "base/date.h"

namespace berth::placement {
namespace {

// These phrases are made for what is placed, too, so that they can be told later: they must be
// cheap.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string connection_detail(const SnapshotNode& node) {
  if (node.info->state != model::NodeState::Provisioned) {
    return fmt::format("is {}", model::to_string(node.info->state));
  }
  return "is not connected";
}

std::string readiness_text(const SnapshotNode& node, const model::Runtime& runtime) {
  std::string text = fmt::format("{} is {}", runtime.id.value(), model::to_string(runtime.ready));
  const auto since = node.not_ready_since.find(runtime.id);
  if (since != node.not_ready_since.end()) text += " since " + iso_date(since->second);
  return text;
}

std::string usable_detail(const SnapshotNode& node) {
  if (node.drain != Drain::No) return "is being drained";
  if (node.cordoned) return "is cordoned";
  if (!node.info->store_problem.empty()) {
    return joined({"cannot write its store: ", node.info->store_problem});
  }
  if (node.primary == nullptr) return "has no runtime";
  return fmt::format("is not Ready: its primary runtime {}", readiness_text(node, *node.primary));
}

std::string node_id_detail(const SnapshotNode& node, const Ask& request) {
  const auto& own = request.own_runtime;
  if (!own || own->node == node.id) return "is not among the nodes named";
  return fmt::format("the instance belongs to {}", model::to_string(*own));
}

std::int64_t listed(const SnapshotNode& node, const std::string& resource) {
  const auto& all = node.info->shared_resources;
  const auto found = std::ranges::find(all, resource, &model::SharedResource::name);
  return found == all.end() ? 0 : std::int64_t{found->count};
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
    return joined({runtime.id.value(), " has ", what, " ",
                   offered->empty() ? "none" : std::string_view(*offered), ", not ", *needed});
  }
  for (const std::string& feature : needs.os_features) {
    if (!offers.os_features.contains(feature)) {
      return joined({runtime.id.value(), " lacks os feature ", feature});
    }
  }
  CHECK(false, "the platform differs in something");
}

std::string runtime_type_detail(const SnapshotNode& node, const Ask& request,
                                const Verdict& verdict) {
  if (node.info->runtimes.empty()) return "has no runtime";
  if (verdict.runtime == nullptr) {
    return fmt::format("its runtime {} is gone", request.present->place.runtime.value());
  }
  std::vector<std::string_view> types;
  for (const auto& runtime : node.info->runtimes) types.push_back(model::to_string(runtime.type));
  return fmt::format("has only {}", fmt::join(types, ", "));
}

// What the rule is about: where there are no figures, a phrase.
std::string what_of(const SnapshotNode& node, const Ask& request, const Verdict& verdict) {
  switch (verdict.reason) {
    case Reason::NoConnectedNodes: return connection_detail(node);
    case Reason::NoUsableNodes: return usable_detail(node);
    case Reason::NoMatchingNodeId: return node_id_detail(node, request);
    case Reason::NoMatchingLabels:
    case Reason::NoMatchingResources: return *verdict.shortfall.what;
    case Reason::NoMatchingRuntimeType: return runtime_type_detail(node, request, verdict);
    case Reason::NoMatchingPlatform:
      return platform_detail(verdict.image->platform, *verdict.runtime);
    case Reason::RuntimeNotReady: return readiness_text(node, *verdict.runtime);
    case Reason::InsufficientCpu:
    case Reason::InsufficientRam:
    case Reason::InsufficientStorage:
    case Reason::InsufficientState: return "";
    case Reason::InstanceLimitReached: return verdict.runtime->id.value();
    case Reason::AboveMaxThreshold:
      return node.overloaded.any() ? "is overloaded itself"
                                   : "would be used above its max threshold";
    case Reason::FailedThere: return "it did not come up there lately";
  }
  CHECK(false, "unknown reason");
}

std::string shortage(const model::NodeAnswer& answer, const char* of_what) {
  return fmt::format("asked {}, has {} of {}", human(Bytes{answer.asked}), human(Bytes{answer.has}),
                     of_what);
}

std::string turned_down(const model::NodeAnswer& answer) {
  switch (*answer.reason) {
    case Reason::NoMatchingLabels: return fmt::format("lacks label {}", answer.what);
    case Reason::NoMatchingResources:
      return fmt::format("has no {}{}", answer.what, answer.has > 0 ? " left" : "");
    case Reason::InsufficientCpu:
      return fmt::format("asked {}, has {} DMIPS", answer.asked, answer.has);
    case Reason::InsufficientRam: return shortage(answer, "ram");
    case Reason::InsufficientStorage: return shortage(answer, "storage");
    case Reason::InsufficientState: return shortage(answer, "state");
    case Reason::InstanceLimitReached:
      return fmt::format("{} runs its {} instances already", answer.what, answer.has);
    default: return answer.what;
  }
}

std::string behind(const model::NodeAnswer& answer, const std::string& chosen) {
  switch (*answer.behind) {
    case Preference::Data: return fmt::format("fits, but what it has stored is on {}", chosen);
    case Preference::NodePriority:
      return fmt::format("fits, but has priority {}, {} has {}", answer.has, chosen, answer.asked);
    case Preference::Cpu:
      return fmt::format("fits, but has {} DMIPS left, {} has {}", answer.has, chosen,
                         answer.asked);
    case Preference::Ram:
      return fmt::format("fits, but has {} of ram left, {} has {}", human(Bytes{answer.has}),
                         chosen, human(Bytes{answer.asked}));
    case Preference::NodeName:
    case Preference::TypeOrder:
    case Preference::RuntimeName:
      return fmt::format("fits as well; {} comes first by name", chosen);
  }
  CHECK(false, "unknown preference");
}

std::string fitting(const model::NodeAnswer& answer, const model::NodeId& chosen) {
  if (answer.node == chosen) {
    return fmt::format("best fit, on {}: {} DMIPS left", answer.what, answer.has);
  }
  return answer.behind ? behind(answer, chosen.value()) : "fits as well";
}

NodeVerdict describe(const SnapshotNode& node, const Ask& request, const Verdict& verdict) {
  NodeVerdict described{.node = node.id,
                        .reason = verdict.reason,
                        .asked = verdict.shortfall.asked,
                        .has = verdict.shortfall.has,
                        .runtime = {},
                        .readiness = {},
                        .detail = turned_down(answer_of(node, request, verdict))};
  if (verdict.reason == Reason::RuntimeNotReady) {
    described.runtime = verdict.runtime->id;
    described.readiness = verdict.runtime->ready;
    const auto since = node.not_ready_since.find(verdict.runtime->id);
    if (since != node.not_ready_since.end()) described.not_ready_since = since->second;
  }
  return described;
}

NodeVerdict describe(const Fit& winner, const Fit& fit) {
  NodeVerdict verdict{*fit.node, {}, {}, {}, *fit.runtime, {}, {}};
  verdict.detail =
      winner.slot == fit.slot
          ? fmt::format("best fit, on {}: {} DMIPS and {} of ram left", fit.runtime->value(),
                        fit.cpu_left.count(), human(fit.ram_left))
          : fitting(answer_of(winner, fit), *winner.node);
  return verdict;
}

void sort_by_node(std::vector<NodeVerdict>& verdicts) {
  std::ranges::sort(verdicts, {}, &NodeVerdict::node);
}

}  // namespace

bool is_amount(Reason reason) {
  return reason == Reason::InsufficientCpu || reason == Reason::InsufficientRam ||
         reason == Reason::InsufficientStorage || reason == Reason::InsufficientState;
}

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

model::NodeAnswer answer_of(const SnapshotNode& node, const Ask& request, const Verdict& verdict) {
  model::NodeAnswer answer{.node = node.id,
                           .reason = verdict.reason,
                           .behind = {},
                           .asked = verdict.shortfall.asked.value_or(0),
                           .has = verdict.shortfall.has.value_or(0),
                           .what = what_of(node, request, verdict)};
  if (verdict.reason == Reason::NoMatchingResources) answer.has = listed(node, answer.what);
  if (verdict.reason == Reason::InstanceLimitReached) {
    answer.has = verdict.runtime->limits.instances;
  }
  return answer;
}

model::NodeAnswer answer_of(const Fit& winner, const Fit& fit) {
  model::NodeAnswer answer{.node = *fit.node, .reason = {}, .behind = {}, .what = {}};
  if (winner.slot == fit.slot) {
    answer.has = fit.cpu_left.count();
    answer.what = fit.runtime->value();
    return answer;
  }
  if (!is_better(winner, fit)) return answer;  // the chosen one is where others made room
  answer.behind = what_decided(winner, fit);
  const auto figure = [&answer](const Fit& of) {
    if (*answer.behind == Preference::NodePriority) return of.priority;
    if (*answer.behind == Preference::Cpu) return of.cpu_left.count();
    return *answer.behind == Preference::Ram ? of.ram_left.count() : 0;
  };
  answer.asked = figure(winner);
  answer.has = figure(fit);
  return answer;
}

NodeVerdict verdict_of(const model::NodeAnswer& answer, const model::NodeId* chosen) {
  NodeVerdict verdict{answer.node, answer.reason, {}, {}, {}, {}, {}};
  if (answer.reason && is_amount(*answer.reason)) {
    verdict.asked = answer.asked;
    verdict.has = answer.has;
  }
  if (answer.reason) {
    verdict.detail = turned_down(answer);
  } else if (chosen != nullptr) {
    verdict.detail = fitting(answer, *chosen);
  }
  return verdict;
}

std::vector<NodeVerdict> describe_all(const std::vector<SnapshotNode>& nodes, const Ask& request,
                                      const std::vector<Verdict>& verdicts) {
  std::vector<NodeVerdict> described;
  for (const Verdict& verdict : verdicts) {
    described.push_back(describe(nodes[verdict.node], request, verdict));
  }
  sort_by_node(described);
  return described;
}

std::vector<NodeVerdict> verdicts_for(const Pipeline& pipeline, const Ask& request) {
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
