#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/tree.h"

// JSON as OCI runtimes and images have it: written from parts, read by names.
namespace berth::runtime::json {

std::string text(std::string_view value);
std::string texts(const std::vector<std::string>& values);
std::string list(const std::vector<std::string>& values);
std::string object(std::initializer_list<std::pair<std::string_view, std::string>> members);

// The member of an object; nullptr: none.
const codec::Tree* member(const codec::Tree& tree, std::string_view name);

// The text at the end of a path of members; "" if there is none.
std::string text_at(const codec::Tree& tree, std::initializer_list<std::string_view> path);

}  // namespace berth::runtime::json
