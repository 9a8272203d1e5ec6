#pragma once

#include <optional>
#include <string>

#include "placement/pipeline.h"

// The cheapest change that would make a refused instance fit, in words: "free 188 DMIPS on n2, or
// label n3 zone=edge". Fewest changes first; then what is easiest to do; then the smallest amount.
namespace berth::placement {

std::string hint_to_place(const Pipeline& pipeline, const Ask& request);

// For a pinned one, which nothing but its own place can help.
std::string hint_to_keep(const Pipeline& pipeline, const Ask& request, std::size_t node,
                         std::optional<std::size_t> runtime);

}  // namespace berth::placement
