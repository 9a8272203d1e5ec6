#pragma once

#include <compare>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/shared_text.h"

namespace berth {

// A name that cannot be mixed up with the name of another kind of thing. Ordered by bytes, which
// is the order that every tie-break of placement refers to.
template <class Tag>
class Id {
 public:
  Id() = default;
  explicit Id(std::string_view value) : value_(value) {}

  const std::string& value() const { return value_.text(); }
  bool empty() const { return value_.empty(); }

  friend bool operator==(const Id&, const Id&) = default;
  friend std::strong_ordering operator<=>(const Id&, const Id&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Id& id) { return out << id.value(); }

  std::size_t hash() const { return value_.hash(); }

 private:
  SharedText value_;
};

}  // namespace berth

template <class Tag>
struct std::hash<berth::Id<Tag>> {
  std::size_t operator()(const berth::Id<Tag>& id) const noexcept { return id.hash(); }
};
