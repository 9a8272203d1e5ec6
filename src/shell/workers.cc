#include "shell/workers.h"

#include <system_error>
#include <utility>

#include "base/check.h"

namespace berth::shell {

Workers::Workers(std::size_t threads, std::size_t limit) : threads_max_(threads), limit_(limit) {
  CHECK(threads > 0, "workers without a thread");
  threads_.emplace_back([this] { work(); });
}

Workers::~Workers() { stop(); }

bool Workers::submit(const std::string& key, Task task) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || waiting_ >= limit_) return false;
  Lane& lane = lanes_[key];
  if (!lane.running && lane.waiting.empty()) {
    ready_.push_back(key);
    if (ready_.size() > idle_threads_ && threads_.size() < threads_max_) grow();
    changed_.notify_one();
  }
  lane.waiting.push_back(std::move(task));
  ++waiting_;
  return true;
}

// If the machine has no more threads to give, those that there are do the work.
void Workers::grow() {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
  }
}

void Workers::wait_until_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return lanes_.empty(); });
}

void Workers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  lanes_.clear();
  ready_.clear();
  waiting_ = 0;
}

void Workers::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    --idle_threads_;
    if (stopping_) return;
    const std::string key = std::move(ready_.front());
    ready_.pop_front();
    Lane& lane = lanes_.at(key);
    {
      const Task task = std::move(lane.waiting.front());
      lane.waiting.pop_front();
      lane.running = true;
      --waiting_;
      lock.unlock();
      task();
    }  // what the task holds is let go outside of the lock
    lock.lock();
    lane.running = false;
    if (!lane.waiting.empty()) {
      ready_.push_back(key);
      changed_.notify_one();
    } else {
      lanes_.erase(key);
      if (lanes_.empty()) idle_.notify_all();
    }
  }
}

}  // namespace berth::shell
