#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "control/events.h"

namespace berth::controld {

// A note of the controller with its number and the time of day.
struct LoggedEvent {
  std::uint64_t number = 0;
  std::chrono::system_clock::time_point time;
  control::Note note;

  friend bool operator==(const LoggedEvent&, const LoggedEvent&) = default;
};

// The newest events, a bounded number of them. Safe to call from any thread.
class EventLog {
 public:
  static constexpr std::size_t kKept = 10'000;

  explicit EventLog(std::size_t kept = kKept) : kept_(kept) {}

  // Gives the notes their numbers, in order.
  std::vector<LoggedEvent> add(std::vector<control::Note> notes,
                               std::chrono::system_clock::time_point now);

  struct Selection {
    std::string_view about;    // "node/n1" is about itself and what lies below; empty: all
    std::uint64_t after = 0;   // only those with a greater number
    std::size_t limit = 1000;  // the newest so many
  };
  // Oldest first.
  std::vector<LoggedEvent> list(const Selection& selection) const;

 private:
  const std::size_t kept_;
  mutable std::mutex mutex_;
  std::deque<LoggedEvent> events_;
  std::uint64_t last_number_ = 0;
};

// Whether something called `name` ("instance/web/default/0") is meant by `about`, a whole part of
// the name from its beginning ("instance/web"), or everything.
bool is_about(std::string_view name, std::string_view about);

}  // namespace berth::controld
