#include "sim/trace.h"

#include <bit>

namespace berth::sim {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  return std::rotl(hash ^ word, 23) * 0x9e3779b97f4a7c15;
}

}  // namespace

std::string clock_text(Time now) {
  const auto micros = now.time_since_epoch().count();
  const auto seconds = micros / 1'000'000;
  return fmt::format("{:02}:{:02}:{:02}.{:06}", seconds / 3600, seconds / 60 % 60, seconds % 60,
                     micros % 1'000'000);
}

void Trace::bytes(std::string_view bytes) {
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    hash_ = mixed(hash_, word);
  }
  for (const char byte : bytes) hash_ = mixed(hash_, static_cast<unsigned char>(byte));
}

void Trace::record(Time now, std::string_view who) {
  const std::string_view what(buffer_.data(), buffer_.size());
  hash_ = mixed(hash_, static_cast<std::uint64_t>(now.time_since_epoch().count()));
  bytes(who);
  bytes(what);
  if (sink_) sink_(fmt::format("{} {:<10} {}", clock_text(now), who, what));
}

}  // namespace berth::sim
