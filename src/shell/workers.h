#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace berth::shell {

// Threads for work that may block: one at first, and more, up to `threads`, when all are busy.
// Tasks of one key run one after the other, in the order of their coming; tasks of different keys
// run side by side, fairly in turn. Bounded. Safe to call from any thread, also from a task.
class Workers {
 public:
  using Task = std::function<void()>;

  Workers(std::size_t threads, std::size_t limit);
  ~Workers();  // what runs is waited for, what waits is dropped

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // False if `limit` tasks are waiting or the end has come; the task is not taken then.
  [[nodiscard]] bool submit(const std::string& key, Task task);

  // Returns when nothing waits and nothing runs.
  void wait_until_idle();

  // No more tasks are taken and the waiting ones are dropped; returns when the last one has ended.
  void stop();

 private:
  struct Lane {
    std::deque<Task> waiting;
    bool running = false;
  };

  void grow();  // with the mutex held
  void work();

  const std::size_t threads_max_;
  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  std::map<std::string, Lane> lanes_;  // those with something waiting or running
  std::deque<std::string> ready_;      // keys of lanes whose next task can run
  std::size_t waiting_ = 0;
  std::size_t idle_threads_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth::shell
