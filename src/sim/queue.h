#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.h"

namespace berth::sim {

// Virtual time, and what will happen in it: tasks run in the order of their times, those of one
// time in the order in which they were added.
class Queue {
 public:
  using Task = std::function<void()>;

  Time now() const { return now_; }

  void at(Time when, Task task);
  void after(Duration delay, Task task) { at(now_ + delay, std::move(task)); }

  // Runs the next task that is due at or before `until`. If there is none, time moves on to `until`
  // and the answer is false.
  bool run_next(Time until);

 private:
  struct Entry {
    Time when;
    std::uint64_t sequence = 0;
    Task task;
  };
  static bool later(const Entry& a, const Entry& b);

  std::vector<Entry> heap_;
  Time now_{};
  std::uint64_t next_sequence_ = 0;
};

}  // namespace berth::sim
