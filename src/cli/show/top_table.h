#pragma once

#include <string>
#include <vector>

#include "cli/show/views.h"

// Loads as bars and figures.
namespace berth::cli {

std::string top_nodes(const std::vector<v1::Node>& nodes, const Style& style);
std::string top_instances(const std::vector<v1::Instance>& instances, const Style& style);

// Those that use most cpu first, then most ram, then by name.
std::vector<v1::Instance> by_appetite(std::vector<v1::Instance> instances);

}  // namespace berth::cli
