#pragma once

#include <string>
#include <string_view>

namespace berth::controld::api {

// The OpenAPI document (version 3): paths from the table of methods, schemas from the descriptors.
std::string openapi(std::string_view version);

}  // namespace berth::controld::api
