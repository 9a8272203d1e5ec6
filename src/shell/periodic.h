#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace berth::shell {

// A thread that does a task at once and then every `period`. The task may block: a late turn moves
// the ones after it, they do not heap up.
class Periodic {
 public:
  Periodic(Duration period, std::function<void()> task);
  ~Periodic();  // waits for a task that is under way

  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

  // The next turn comes now.
  void hurry();

 private:
  void run();

  const Duration period_;
  const std::function<void()> task_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hurried_ = false;
  bool stopping_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace berth::shell
