#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth::sim {

// "00:07:12.345678", virtual time since the start.
std::string clock_text(Time now);

// All that happens in a simulated world, in order. It is always hashed, so that two runs can be
// compared, and turned into text for whoever listens.
class Trace {
 public:
  using Sink = std::function<void(std::string_view line)>;

  explicit Trace(Sink sink) : sink_(std::move(sink)) {}

  template <class... Args>
  void line(Time now, std::string_view who, fmt::format_string<Args...> format, Args&&... args) {
    buffer_.clear();
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    record(now, who);
  }

  // Counts in the hash only: bytes that no person wants to read.
  void bytes(std::string_view bytes);

  std::uint64_t hash() const { return hash_; }

 private:
  void record(Time now, std::string_view who);

  Sink sink_;
  fmt::memory_buffer buffer_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace berth::sim
