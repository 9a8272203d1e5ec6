#pragma once

#include <string>

namespace berth::codec {

// The JSON Schema (draft 2020-12) of all kinds of documents, for editors; pretty printed.
std::string json_schema();

}  // namespace berth::codec
