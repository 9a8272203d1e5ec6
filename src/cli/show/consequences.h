#pragma once

#include <string>

#include "berth/v1/api.pb.h"
#include "cli/show/console.h"
#include "cli/show/json_text.h"
#include "cli/show/plan_table.h"

// What follows from a change, as the control plane tells it.
namespace berth::cli {

using Consequences = google::protobuf::RepeatedPtrField<v1::Consequence>;

// "  move     web/vehicle/0  1.0.0  n2  from n1  stops first": a line each; if there are too many
// to read and nothing else is asked for, the rest is counted.
std::string consequences_text(const Consequences& consequences, Detail detail, const Style& style);

Json json_of(const Consequences& consequences);

}  // namespace berth::cli
