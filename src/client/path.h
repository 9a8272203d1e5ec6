#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace berth::client {

// Percent-encoded as one segment of a path or one value of a query: nothing in it is taken for a
// separator.
std::string encoded(std::string_view text);

using Query = std::initializer_list<std::pair<std::string_view, std::string>>;

// The path with those parameters that say something.
std::string with_query(std::string path, Query query);

}  // namespace berth::client
