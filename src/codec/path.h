#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::codec {

// Where in a document we are, as a chain on the stack: cheap to extend, made into text only for a
// message. A path must not outlive those above it.
class Path {
 public:
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);

  Path() = default;  // the document
  Path(const Path& above, std::string_view key) : above_(&above), key_(key) {}
  Path(const Path& above, std::size_t index) : above_(&above), index_(index) {}

  // "spec.images[0].runtimes"
  friend std::string to_string(const Path& path);

 private:
  const Path* above_ = nullptr;
  std::string_view key_;
  std::size_t index_ = kNoIndex;
};

}  // namespace berth::codec
