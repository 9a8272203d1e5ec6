#pragma once

#include <google/protobuf/struct.pb.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "codec/yaml_text.h"

// Values for programs: JSON, and the same as YAML.
namespace berth::cli {

using Json = nlohmann::ordered_json;

// Documents travel as protobuf's Struct, where every number is a double; whole ones are whole again
// here. The keys are in the order in which manifests are written.
Json json_of(const google::protobuf::Struct& object);

std::string json_text(const Json& json);  // indented, with a newline at the end
std::string json_line(const Json& json);  // on one line, with a newline at the end
using codec::yaml_text;

}  // namespace berth::cli
