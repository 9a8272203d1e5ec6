#include "control/session/port_bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/check.h"

namespace berth::control {
namespace {

constexpr std::size_t kPortLast = 65535;
constexpr std::size_t kDigitsOfWord = 16;

template <class Integer>
std::optional<Integer> parse_whole(std::string_view text, int base) {
  Integer value{};
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, base);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

PortBits::PortBits(PortRange range)
    : first_(range.first), words_((range.size() + kWordBits - 1) / kWordBits) {
  CHECK(range.first >= 1 && range.first <= range.last, "a range of ports");
}

std::optional<PortRange> PortBits::span() const {
  const auto is_set = [](std::uint64_t word) { return word != 0; };
  const auto least = std::ranges::find_if(words_, is_set);
  if (least == words_.end()) return std::nullopt;
  const auto greatest = std::find_if(words_.rbegin(), words_.rend(), is_set);
  const auto start_of = [&](auto word) {
    return first_ + static_cast<int>(word - words_.begin()) * static_cast<int>(kWordBits);
  };
  const int first = start_of(least) + std::countr_zero(*least);
  const int last = start_of(greatest.base()) - 1 - std::countl_zero(*greatest);
  return PortRange{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
}

bool PortBits::covers(std::uint16_t port) const {
  return port >= first_ && static_cast<std::size_t>(port - first_) < words_.size() * kWordBits;
}

std::size_t PortBits::index_of(std::uint16_t port) const {
  CHECK(covers(port), "a port of the range");
  return static_cast<std::size_t>(port - first_);
}

bool PortBits::contains(std::uint16_t port) const {
  if (!covers(port)) return false;
  const std::size_t index = index_of(port);
  return (words_[index / kWordBits] >> (index % kWordBits) & 1) != 0;
}

void PortBits::insert(std::uint16_t port) {
  const std::size_t index = index_of(port);
  words_[index / kWordBits] |= std::uint64_t{1} << (index % kWordBits);
}

void PortBits::erase(std::uint16_t port) {
  const std::size_t index = index_of(port);
  words_[index / kWordBits] &= ~(std::uint64_t{1} << (index % kWordBits));
}

void PortBits::intersect(const PortBits& other) {
  CHECK(first_ == other.first_ && words_.size() == other.words_.size(), "of one range");
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
}

std::string PortBits::text() const {
  std::string text = fmt::format("{}:", first_);
  for (const std::uint64_t word : words_) text += fmt::format("{:016x}", word);
  return text;
}

std::optional<PortBits> PortBits::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const auto first = parse_whole<std::uint16_t>(text.substr(0, colon), 10);
  text.remove_prefix(colon + 1);
  if (!first || text.size() % kDigitsOfWord != 0) return std::nullopt;
  const std::size_t words = text.size() / kDigitsOfWord;
  const bool is_too_long = words > 0 && *first + (words - 1) * kWordBits > kPortLast;
  if (is_too_long || (words > 0 && *first == 0)) return std::nullopt;
  PortBits bits;
  bits.first_ = *first;
  for (; !text.empty(); text.remove_prefix(kDigitsOfWord)) {
    const auto word = parse_whole<std::uint64_t>(text.substr(0, kDigitsOfWord), 16);
    if (!word) return std::nullopt;
    bits.words_.push_back(*word);
  }
  return bits;
}

}  // namespace berth::control
