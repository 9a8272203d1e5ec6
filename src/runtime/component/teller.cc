#include "runtime/component/teller.h"

#include <utility>

namespace berth::runtime {

Teller::Teller(RunListener& listener) : listener_(listener), thread_([this] { work(); }) {}

Teller::~Teller() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Teller::tell(const model::InstanceKey& key, const model::RunId& run, std::int32_t exit_code,
                  model::Problem problem) {
  {
    const std::lock_guard lock(mutex_);
    ends_.push_back({key, run, exit_code, std::move(problem)});
  }
  changed_.notify_all();
}

void Teller::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closing_ || !ends_.empty(); });
      if (ends_.empty()) return;
    }
    const std::lock_guard telling(telling_);
    std::unique_lock lock(mutex_);
    const End end = std::move(ends_.front());
    ends_.pop_front();
    lock.unlock();
    listener_.exited(end.key, end.run, end.exit_code, end.problem);
  }
}

}  // namespace berth::runtime
