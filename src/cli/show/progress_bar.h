#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "cli/show/console.h"

namespace berth::cli {

// "[####......]  40 %  4000 of 10000 instances", not wider than the style's columns.
std::string progress_line(std::uint64_t done, std::uint64_t all, std::string_view what,
                          const Style& style);

// How far something is that takes a while, drawn over itself; gone when it goes. Silent where
// nobody sees it, and while there is little to wait for.
class ProgressBar {
 public:
  ProgressBar(std::ostream& out, const Style& style, std::uint64_t all, std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance(std::uint64_t by);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  const Style style_;
  const std::uint64_t all_;
  const std::string what_;
  std::uint64_t done_ = 0;
  Clock::time_point drawn_at_ = Clock::now();
  std::size_t drawn_ = 0;  // columns
};

}  // namespace berth::cli
