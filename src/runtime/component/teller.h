#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include "runtime/runtime.h"

namespace berth::runtime {

// Tells a listener of ends, by a thread of its own and in their order.
class Teller {
 public:
  explicit Teller(RunListener& listener);
  ~Teller();  // what has not been told yet is told

  void tell(const model::InstanceKey& key, const model::RunId& run, std::int32_t exit_code,
            model::Problem problem);

  // While it is held nothing is told.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(telling_); }

 private:
  struct End {
    model::InstanceKey key;
    model::RunId run;
    std::int32_t exit_code = 0;
    model::Problem problem;
  };

  void work();

  RunListener& listener_;
  std::mutex telling_;  // taken before the other
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<End> ends_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace berth::runtime
