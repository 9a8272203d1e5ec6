#include "codec/json_parts.h"

#include "codec/text.h"

namespace berth::codec::json {

std::string text(std::string_view value) {
  std::string out;
  append_json_string(out, value);
  return out;
}

std::string list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ',';
    out += value;
  }
  return out + "]";
}

std::string texts(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  for (const std::string& value : values) quoted.push_back(text(value));
  return list(quoted);
}

std::string object(const std::vector<Member>& members) {
  std::string out = "{";
  for (const auto& [name, value] : members) {
    if (value.empty()) continue;
    if (out.size() > 1) out += ',';
    out += text(name) + ":" + value;
  }
  return out + "}";
}

const Tree* member(const Tree& tree, std::string_view name) {
  for (std::size_t i = 0; i < tree.keys.size(); ++i) {
    if (tree.keys[i].text == name) return &tree.children[i];
  }
  return nullptr;
}

std::string text_at(const Tree& tree, std::initializer_list<std::string_view> path) {
  const Tree* at = &tree;
  for (const std::string_view name : path) {
    at = member(*at, name);
    if (at == nullptr) return "";
  }
  return at->text;
}

}  // namespace berth::codec::json
