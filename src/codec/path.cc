#include "codec/path.h"

#include "codec/text.h"

namespace berth::codec {
namespace {

// Keys of the user's making may be anything.
std::string readable(std::string_view key) {
  const std::string text = in_quotes(key);
  const bool is_clean = text.size() == key.size() + 2;
  return is_clean ? std::string(key) : text;
}

}  // namespace

std::string to_string(const Path& path) {
  if (path.above_ == nullptr) return {};
  std::string text = to_string(*path.above_);
  if (path.index_ != Path::kNoIndex) return text + "[" + std::to_string(path.index_) + "]";
  if (!text.empty()) text += '.';
  return text + readable(path.key_);
}

}  // namespace berth::codec
