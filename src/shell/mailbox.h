#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "shell/clock.h"

namespace berth::shell {

// Where all threads of a daemon put the facts for the one that owns its core. Bounded: who posts to
// a full one is told so and must let go of its peer, never wait.
template <class T>
class Mailbox {
 public:
  explicit Mailbox(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] bool post(T item) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= limit_) return false;
      items_.push_back(std::move(item));
    }
    arrived_.notify_one();
    return true;
  }

  // Everything that has come, in order; waits for something until then. Empty: the time has come,
  // somebody has called `wake`, or the box is closed.
  std::vector<T> take(std::optional<Time> until) {
    std::unique_lock lock(mutex_);
    const auto something = [this] { return closed_ || woken_ || !items_.empty(); };
    if (until) {
      arrived_.wait_until(lock, to_steady(*until), something);
    } else {
      arrived_.wait(lock, something);
    }
    woken_ = false;
    return std::exchange(items_, {});
  }

  // Has `take` return, now or when it is called next: there is something to do beside the items.
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    arrived_.notify_one();
  }

  // Waits until then without taking anything; whether the box was closed.
  bool wait_for_close(Time until) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_until(lock, to_steady(until), [this] { return closed_; });
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    arrived_.notify_all();
  }

  bool empty() const {
    const std::lock_guard lock(mutex_);
    return items_.empty();
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<T> items_;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace berth::shell
