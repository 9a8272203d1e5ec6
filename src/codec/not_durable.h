#pragma once

#include <string_view>

namespace berth::codec {

// How an error begins that refuses nothing: the change was taken, and is carried out once it can be
// made durable. Whoever hears it knows neither that it is so nor that it is not.
constexpr std::string_view kNotDurableYet = "not durable yet: ";

}  // namespace berth::codec
