#pragma once

#include <string>
#include <string_view>

namespace berth::trust {

// HMAC-SHA256, in hex. Who does not have the key can neither make nor change what is sealed.
std::string seal(std::string_view key, std::string_view bytes);

// In a time that does not tell how much of it is right.
bool is_sealed(std::string_view key, std::string_view bytes, std::string_view seal);

// Twelve letters and digits that nobody has drawn before.
std::string draw_name();

}  // namespace berth::trust
