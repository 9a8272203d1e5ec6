#include "shell/periodic.h"

#include <utility>

namespace berth::shell {

Periodic::Periodic(Duration period, std::function<void()> task)
    : period_(period), task_(std::move(task)), thread_([this] { run(); }) {}

Periodic::~Periodic() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Periodic::hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurried_ = true;
  }
  changed_.notify_all();
}

void Periodic::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    task_();
    lock.lock();
    changed_.wait_for(lock, period_, [this] { return stopping_ || hurried_; });
    hurried_ = false;
  }
}

}  // namespace berth::shell
