#include "placement/rules/rules.h"

namespace berth::placement {
namespace {

constexpr std::array kRules{
    &connected_rule,
    &usable_rule,
    &node_id_rule,
    &labels_rule,
    &shared_resources_rule,
    &runtime_type_rule,
    &platform_rule,
    &readiness_rule,
    &cpu_rule,
    &ram_rule,
    &storage_rule,
    &state_rule,
    &instance_count_rule,
    &threshold_rule,
    &failed_there_rule,
};

}  // namespace

std::span<const Rule* const> rules() { return kRules; }

}  // namespace berth::placement
