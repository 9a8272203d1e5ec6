#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace berth::controld {

// A note of the controller with its number and the time of day. Its kind is a word: the log may
// hold events that another version of the program has written.
struct LoggedEvent {
  std::uint64_t number = 0;
  std::chrono::system_clock::time_point time;
  std::string kind;
  std::string about;
  std::string text;

  friend bool operator==(const LoggedEvent&, const LoggedEvent&) = default;
};

}  // namespace berth::controld
