#include "store/sqlite/checksum.h"

#include <bit>
#include <cstring>

namespace berth::store {
namespace {

constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kSecond = 0xbf58476d1ce4e5b9;

// The same on every machine: files may be carried from one to another.
std::uint64_t little_endian(std::uint64_t word) {
  if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(word);
  return word;
}

std::uint64_t with(std::uint64_t sum, std::uint64_t word) {
  return std::rotl((sum ^ word) * kFirst, 31) * kSecond;
}

// Eight bytes at a time; the length keeps "a" from being "a\0".
std::uint64_t with(std::uint64_t sum, std::string_view bytes) {
  sum = with(sum, bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = bytes.size() < 8 ? bytes.size() : 8;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), size);
    sum = with(sum, little_endian(word));
    bytes.remove_prefix(size);
  }
  return sum;
}

// Each bit of the sum depends on each before it, so that sums can be added up.
std::uint64_t finished(std::uint64_t sum) {
  sum = (sum ^ (sum >> 30)) * kSecond;
  sum = (sum ^ (sum >> 27)) * kFirst;
  return sum ^ (sum >> 31);
}

}  // namespace

std::uint64_t checksum(std::string_view key, std::string_view value) {
  return finished(with(with(kFirst, key), value));
}

std::uint64_t checksum(std::span<const std::uint64_t> numbers) {
  std::uint64_t sum = kSecond;
  for (const std::uint64_t number : numbers) sum = with(sum, number);
  return finished(sum);
}

}  // namespace berth::store
