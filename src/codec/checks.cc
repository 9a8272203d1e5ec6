#include "codec/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codec/text.h"

namespace berth::codec {
namespace {

bool can_run(const std::vector<model::RuntimeType>& types, const model::ImageForm& form) {
  const auto able = model::runtime_types_of(form);
  return std::ranges::find_first_of(types, able) != types.end();
}

bool has_nothing_to_boot(const model::Image& image) {
  const auto* vm = std::get_if<model::VmImage>(&image.form);
  return vm != nullptr && vm->kernel.empty() && vm->disk.empty();
}

bool is_vm(const model::Image& image) { return std::holds_alternative<model::VmImage>(image.form); }

bool is_checked_by_exec(const model::Item& item) {
  return item.health && std::holds_alternative<model::ExecCheck>(item.health->probe);
}

// Of an item that is nothing else: one that has other images too may be meant for those.
void remark_what_machines_lack(const model::Item& item, std::vector<Remark>& remarks) {
  if (item.images.empty() || !std::ranges::all_of(item.images, is_vm)) return;
  if (is_checked_by_exec(item)) {
    remarks.push_back({Level::Warning, "spec.health.exec",
                       "no program can be run inside of a virtual machine: use tcp or http"});
  }
  if (item.quotas.state) {
    remarks.push_back({Level::Warning, "spec.quotas.state",
                       "a virtual machine has no state that travels, only storage"});
  }
}

// What is used is compared with the quota.
void remark_alerts_without_quota(const model::Item& item, std::vector<Remark>& remarks) {
  const auto remark = [&](bool has_alert, bool has_quota, const char* resource) {
    if (!has_alert || has_quota) return;
    remarks.push_back({Level::Warning, fmt::format("spec.alerts.{}", resource),
                       fmt::format("is never raised: the item has no quota of {}", resource)});
  };
  remark(item.alerts.cpu.has_value(), item.quotas.cpu.has_value(), "cpu");
  remark(item.alerts.ram.has_value(), item.quotas.ram.has_value(), "ram");
}

std::string names_of(const std::vector<model::RuntimeType>& types) {
  std::vector<std::string_view> names;
  for (const auto type : types) names.push_back(model::to_string(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

const std::string& name_of(const model::SharedResource& resource) { return resource.name; }
const std::string& name_of(const model::Runtime& runtime) { return runtime.id.value(); }

template <class Named>
void remark_repetitions(const std::vector<Named>& things, std::string_view field,
                        std::vector<Remark>& remarks) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < things.size(); ++i) {
    if (seen.insert(name_of(things[i])).second) continue;
    remarks.push_back({Level::Error, fmt::format("spec.{}[{}].name", field, i),
                       in_quotes(name_of(things[i])) + " is there twice"});
  }
}

void remark_second_primary(const std::vector<model::Runtime>& runtimes,
                           std::vector<Remark>& remarks) {
  const model::Runtime* primary = nullptr;
  for (std::size_t i = 0; i < runtimes.size(); ++i) {
    if (!runtimes[i].primary) continue;
    if (primary != nullptr) {
      remarks.push_back({Level::Error, fmt::format("spec.runtimes[{}].primary", i),
                         in_quotes(name_of(*primary)) + " is the primary runtime already"});
    }
    primary = &runtimes[i];
  }
}

}  // namespace

std::vector<Remark> remarks_on(const model::ThresholdRule& rule) {
  if (rule.min <= rule.max) return {};
  const model::ThresholdRule left_out;
  return {{Level::Error, "min",
           fmt::format("min {} is above max {} (left out they are {} and {})", rule.min, rule.max,
                       left_out.min, left_out.max)}};
}

std::vector<Remark> remarks_on(const model::Image& image) {
  std::vector<Remark> remarks;
  const bool is_oci = std::holds_alternative<model::OciImage>(image.form);
  if (is_oci && image.platform.arch.empty()) {
    remarks.push_back({Level::Error, "platform.arch", "is missing: an oci image needs it"});
  }
  if (has_nothing_to_boot(image)) {
    remarks.push_back({Level::Warning, "vm", "has neither kernel nor disk"});
  }
  return remarks;
}

std::vector<Remark> remarks_on(const model::Item& item) {
  std::vector<Remark> remarks;
  for (std::size_t i = 0; i < item.images.size(); ++i) {
    const model::Image& image = item.images[i];
    const auto types = model::runtime_types_of(item, image);
    if (can_run(types, image.form)) continue;
    remarks.push_back({Level::Warning, fmt::format("spec.images[{}]", i),
                       fmt::format("none of its runtimes ({}) can run an image of this form ({} "
                                   "can)",
                                   names_of(types), names_of(runtime_types_of(image.form)))});
  }
  remark_what_machines_lack(item, remarks);
  remark_alerts_without_quota(item, remarks);
  return remarks;
}

std::vector<Remark> remarks_on(const model::NodeConfig& config) {
  if (!config.node || !config.type) return {};
  return {{Level::Error, "spec.match",
           "has both node and type; write one config for the node and one for the type"}};
}

std::vector<Remark> remarks_on(const model::Node& node) {
  std::vector<Remark> remarks;
  remark_repetitions(node.info.shared_resources, "sharedResources", remarks);
  remark_repetitions(node.info.runtimes, "runtimes", remarks);
  remark_second_primary(node.info.runtimes, remarks);
  return remarks;
}

std::vector<Remark> remarks_on(const model::Band& band) {
  if (band.low <= band.high) return {};
  return {{Level::Error, "low",
           fmt::format("low {} is above high {} (left out it is 0)", band.low, band.high)}};
}

std::vector<Remark> remarks_on(const model::ScalingPolicy& scaling) {
  std::vector<Remark> remarks;
  if (scaling.minimum > scaling.maximum) {
    remarks.push_back(
        {Level::Error, "minimum",
         fmt::format("minimum {} is above maximum {} (left out it is {})", scaling.minimum,
                     scaling.maximum, model::ScalingPolicy{}.maximum)});
  }
  if (scaling.idle && scaling.idle_percent) {
    remarks.push_back(
        {Level::Error, "idlePercent", "idle is there too; only one of them can be: leave one out"});
  }
  constexpr std::uint32_t kIdlePercentMax = 99;
  if (scaling.idle_percent && scaling.idle_percent->high > kIdlePercentMax) {
    remarks.push_back({Level::Error, "idlePercent.high",
                       fmt::format("must be 0 to {} percent, not {}", kIdlePercentMax,
                                   scaling.idle_percent->high)});
  }
  return remarks;
}

std::vector<Remark> remarks_on(const model::SessionOptions& sessions) {
  if (!sessions.idle_timeout || sessions.service) return {};
  return {{Level::Error, "idleTimeout",
           "only the session service tells whether there are clients: leave it out, or set "
           "service: true"}};
}

}  // namespace berth::codec
