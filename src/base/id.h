#pragma once

#include <compare>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

// A name that cannot be mixed up with the name of another kind of thing. Ordered by bytes, which
// is the order that every tie-break of placement refers to.
template <class Tag>
class Id {
 public:
  Id() = default;
  explicit Id(std::string value) : value_(std::move(value)) {}
  explicit Id(std::string_view value) : value_(value) {}
  explicit Id(const char* value) : value_(value) {}

  const std::string& value() const { return value_; }
  bool empty() const { return value_.empty(); }

  friend bool operator==(const Id&, const Id&) = default;
  friend std::strong_ordering operator<=>(const Id& a, const Id& b) {
    return a.value_.compare(b.value_) <=> 0;
  }
  friend std::ostream& operator<<(std::ostream& out, const Id& id) { return out << id.value_; }

 private:
  std::string value_;
};

}  // namespace berth

template <class Tag>
struct std::hash<berth::Id<Tag>> {
  std::size_t operator()(const berth::Id<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.value());
  }
};
