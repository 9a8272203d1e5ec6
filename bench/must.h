#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace berth::bench {

// Whatever does not work ends the benchmark.
template <class T>
T must(Result<T> result, const char* what) {
  if (!result) throw std::runtime_error(fmt::format("{}: {}", what, result.error().message));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace berth::bench
