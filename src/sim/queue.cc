#include "sim/queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace berth::sim {

bool Queue::later(const Entry& a, const Entry& b) {
  return std::pair(a.when, a.sequence) > std::pair(b.when, b.sequence);
}

void Queue::at(Time when, Task task) {
  CHECK(when >= now_, "virtual time only moves forward");
  heap_.push_back({when, next_sequence_++, std::move(task)});
  std::ranges::push_heap(heap_, later);
}

bool Queue::run_next(Time until) {
  if (heap_.empty() || heap_.front().when > until) {
    now_ = std::max(now_, until);
    return false;
  }
  std::ranges::pop_heap(heap_, later);
  const Entry entry = std::move(heap_.back());
  heap_.pop_back();
  now_ = entry.when;
  entry.task();
  return true;
}

}  // namespace berth::sim
