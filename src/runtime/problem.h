#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/result.h"
#include "model/instance.h"

// How runtimes say what is wrong.
namespace berth::runtime {

inline auto problem(std::string reason, std::string message) {
  return tl::unexpected(model::Problem{std::move(reason), std::move(message)});
}

inline Error not_running(const model::InstanceKey& key) {
  return not_found(fmt::format("{} does not run here", to_string(key)));
}

// Digests become names of files: nothing else may pass.
inline bool is_digest(std::string_view text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  return text.starts_with(kAlgorithm) && text.size() == kAlgorithm.size() + 64 &&
         text.find_first_not_of("0123456789abcdef", kAlgorithm.size()) == std::string_view::npos;
}

}  // namespace berth::runtime
