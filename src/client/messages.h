#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "base/result.h"

// Messages as the JSON of the wire.
namespace berth::client {

std::string json_of(const google::protobuf::Message& message);

// Unknown fields are skipped: the server may be newer.
Result<void> read_json(std::string_view text, google::protobuf::Message& message);

}  // namespace berth::client
