#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/tree.h"

// JSON that no struct of ours describes: written from parts, read by names.
namespace berth::codec::json {

// A member of an object: its name, which must outlive it, and its value as JSON. One without a
// value is left out.
using Member = std::pair<std::string_view, std::string>;

std::string text(std::string_view value);
std::string texts(const std::vector<std::string>& values);
std::string list(const std::vector<std::string>& values);
std::string object(const std::vector<Member>& members);

// The member of an object; nullptr: none.
const Tree* member(const Tree& tree, std::string_view name);

// The text at the end of a path of members; "" if there is none.
std::string text_at(const Tree& tree, std::initializer_list<std::string_view> path);

}  // namespace berth::codec::json
