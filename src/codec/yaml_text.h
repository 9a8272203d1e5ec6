#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace berth::codec {

// A JSON value as the YAML that people write; maps keep their order.
std::string yaml_text(const nlohmann::ordered_json& json);

// A number, a truth or a text, as JSON has it.
std::string scalar_text(const nlohmann::ordered_json& json);

}  // namespace berth::codec
