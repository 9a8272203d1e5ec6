#include "codec/tree.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace berth::codec {
namespace {

// The first step of a path, "run" of "run[0].item" or "0" of "0].item"; the rest stays in `path`.
std::string_view take_step(std::string_view& path) {
  const std::string_view step = path.substr(0, path.find_first_of(".[]"));
  path.remove_prefix(step.size());
  path.remove_prefix(std::min(path.find_first_not_of(".[]"), path.size()));
  return step;
}

const Tree* child(const Tree& tree, std::string_view step) {
  if (tree.kind == Tree::Kind::Map) {
    const auto key = std::ranges::find(tree.keys, step, &Tree::Key::text);
    return key == tree.keys.end() ? nullptr : &tree.children[std::size_t(key - tree.keys.begin())];
  }
  std::size_t index = 0;
  const auto parsed = std::from_chars(step.data(), step.data() + step.size(), index);
  const bool there = parsed.ec == std::errc() && index < tree.children.size();
  return there ? &tree.children[index] : nullptr;
}

}  // namespace

bool is_null(const Tree& tree) {
  return tree.kind == Tree::Kind::Scalar && !tree.quoted &&
         (tree.text.empty() || tree.text == "~" || tree.text == "null");
}

std::string_view what_is(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::Scalar: return is_null(tree) ? "nothing" : "text";
    case Tree::Kind::List: return "a list";
    case Tree::Kind::Map: return "a map";
  }
  CHECK(false, "unknown kind of tree");
}

Position locate(const Tree& tree, std::string_view path) {
  const Tree* here = &tree;
  while (!path.empty()) {
    const Tree* next = child(*here, take_step(path));
    if (next == nullptr) break;
    here = next;
  }
  return here->at;
}

}  // namespace berth::codec
