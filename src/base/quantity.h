#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <ostream>

namespace berth {

// An amount of one unit. Sums saturate instead of overflowing, so that hostile figures can
// make an answer "no room", never a wrong one.
template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  constexpr std::int64_t count() const { return count_; }

  constexpr Quantity& operator+=(Quantity other) {
    if (__builtin_add_overflow(count_, other.count_, &count_)) count_ = limit(other.count_ > 0);
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    if (__builtin_sub_overflow(count_, other.count_, &count_)) count_ = limit(other.count_ < 0);
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend std::ostream& operator<<(std::ostream& out, Quantity q) { return out << q.count_; }

 private:
  static constexpr std::int64_t limit(bool high) {
    return high ? std::numeric_limits<std::int64_t>::max()
                : std::numeric_limits<std::int64_t>::min();
  }

  std::int64_t count_ = 0;
};

using Dmips = Quantity<struct DmipsUnit>;
using Bytes = Quantity<struct BytesUnit>;

// The share of an amount in percent. Exact for every amount: the product is taken in 128 bits.
template <class Unit>
constexpr Quantity<Unit> percent_rounded_half_up(Quantity<Unit> whole, std::int64_t percent) {
  return Quantity<Unit>(static_cast<std::int64_t>(
      (__extension__ static_cast<__int128>(whole.count()) * percent + 50) / 100));
}

template <class Unit>
constexpr Quantity<Unit> percent_rounded_down(Quantity<Unit> whole, std::int64_t percent) {
  return Quantity<Unit>(static_cast<std::int64_t>(
      (__extension__ static_cast<__int128>(whole.count()) * percent) / 100));
}

// Whether `part` is more than `percent` of `whole`.
template <class Unit>
constexpr bool above_percent(Quantity<Unit> part, Quantity<Unit> whole, std::int64_t percent) {
  return (__extension__ static_cast<__int128>(part.count()) * 100) >
         (__extension__ static_cast<__int128>(whole.count()) * percent);
}

}  // namespace berth
