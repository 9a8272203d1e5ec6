#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "base/result.h"
#include "base/time.h"
#include "session/fd.h"

namespace berth::session {

// Whoever has come first has it next. The thread of a poller takes it for every event: by a plain
// mutex others would hardly ever get in between.
class FairMutex {
 public:
  void lock() {
    const std::lock_guard turn(next_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex next_;
  std::mutex mutex_;
};

// One thread that waits for many descriptors, and the lock of what it works on. What is ready is
// said with the lock held, one event at a time; other threads `enter` to change the same things,
// and need not wait for the thread to have come round.
class Poller {
 public:
  // Called by the thread once it has said all that is ready.
  struct Hooks {
    // With the lock: does what is due, and says when there is more.
    std::function<std::optional<Time>(Time now)> tend;
    // Without it: here others can be told.
    std::function<void()> deliver;
  };

  static Result<std::unique_ptr<Poller>> open();
  Poller(const Poller&) = delete;
  ~Poller();

  // REQUIRES: called once.
  void start(Hooks hooks);
  // Nothing is called any more when it returns. REQUIRES: not called by the thread itself.
  void stop();

  [[nodiscard]] std::unique_lock<FairMutex> enter() { return std::unique_lock(mutex_); }
  // Has the thread come round: there is something to tend or to deliver.
  void wake();

 private:
  friend class Watch;

  Poller(Fd epoll, Fd waker) : epoll_(std::move(epoll)), waker_(std::move(waker)) {}

  void run();
  int wait_ms() const;
  void say_ready(std::uint64_t number, std::uint32_t events);

  const Fd epoll_;
  const Fd waker_;
  Hooks hooks_;
  FairMutex mutex_;
  std::unordered_map<std::uint64_t, class Watch*> watches_;
  std::uint64_t last_number_ = 0;  // 0 is the waker's
  std::optional<Time> next_;       // of the thread alone
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// A descriptor that a poller waits for; it is closed with the watch. Made, used and destroyed with
// the poller's lock held. Its number is never used twice, so that an event that was on its way when
// it went reaches nobody.
class Watch {
 public:
  using Ready = std::function<void(std::uint32_t events)>;  // EPOLLIN, EPOLLOUT, ...

  // `ready` may destroy the watch.
  Watch(Poller& poller, Fd fd, Ready ready);
  Watch(const Watch&) = delete;
  ~Watch();

  int fd() const { return fd_.get(); }

  // What to wait for from now on. 0: for nothing, not even the peer's end, which epoll would go on
  // telling. False: the kernel has no room for another one; nothing will be heard.
  [[nodiscard]] bool want(std::uint32_t events);

 private:
  friend class Poller;

  Poller& poller_;
  const Fd fd_;
  const Ready ready_;
  const std::uint64_t number_;
  std::uint32_t wanted_ = 0;
};

}  // namespace berth::session
