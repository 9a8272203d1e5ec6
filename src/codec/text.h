#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::codec {

// The length of the longest prefix that is valid UTF-8.
std::size_t valid_utf8_prefix(std::string_view text);

// User text as messages show it: in quotes, on one line, and not longer than a glance.
std::string in_quotes(std::string_view text);

// Appends a JSON string that both JSON and YAML readers take for exactly this text. What is not
// UTF-8 becomes U+FFFD, so that whatever was written can be read again.
void append_json_string(std::string& out, std::string_view text);

}  // namespace berth::codec
