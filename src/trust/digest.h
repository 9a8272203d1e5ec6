#pragma once

#include <string>
#include <string_view>

namespace berth::trust {

// SHA-256, in hex.
std::string sha256(std::string_view bytes);

}  // namespace berth::trust
