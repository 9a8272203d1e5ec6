#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "controld/api/call.h"
#include "controld/loop/loop.h"
#include "shell/workers.h"

namespace berth::controld {

struct PlannerLimits {
  std::size_t threads = 2;
  std::size_t waiting = 16;
  std::size_t of_caller = 4;               // that wait or are made
  Duration time = 60s;                     // for one
  std::uint64_t instances_more = 100'000;  // than are asked for already
  std::size_t verdicts = 100'000;          // of nodes, on what is refused
};

// Has plans made for callers: what may compute for long, and must hold up nothing else. A few at a
// time, one for each caller; each is given up when its caller has gone, when it takes too long, and
// when the daemon stops. Safe to call from any thread.
class Planner {
 public:
  explicit Planner(Loop& loop, const PlannerLimits& limits = {});
  ~Planner();

  const PlannerLimits& limits() const { return limits_; }

  // Asked by whoever computes: whether to go on.
  using IsWanted = std::function<bool()>;
  using Task = std::function<void(const IsWanted&)>;

  // Has it done by a worker, or the call fail.
  void submit(const api::CallPtr& call, Task task);

  // What callers are told whose plan was given up while they waited.
  Error why_given_up() const;

  // For tasks: a copy of something of the controller, between two steps, when that is durable or
  // the store fails. Nullopt: it cannot be had.
  template <class Copy>
  auto copied(const Copy& copy) const
      -> std::optional<std::invoke_result_t<Copy, const control::Controller&>> {
    struct Handed {
      std::mutex mutex;
      std::condition_variable came;
      std::optional<std::invoke_result_t<Copy, const control::Controller&>> copy;
      bool may_be_used = false;
    };
    const auto handed = std::make_shared<Handed>();
    const auto look = [handed, copy](const control::Controller& controller) {
      {
        const std::lock_guard lock(handed->mutex);
        handed->copy.emplace(copy(controller));
      }
      return [handed](const std::optional<Error>& doubt) {
        {
          const std::lock_guard lock(handed->mutex);
          if (doubt && doubt->code == Code::Conflict) handed->copy.reset();
          handed->may_be_used = true;
        }
        handed->came.notify_one();
      };
    };
    if (!loop_.post(Loop::Reader(look))) return std::nullopt;
    std::unique_lock lock(handed->mutex);
    handed->came.wait(lock, [&] { return handed->may_be_used; });
    return std::move(handed->copy);
  }

  // What is being made is given up; returns when that has ended.
  void stop();

 private:
  bool enter(const std::string& caller);
  void leave(const std::string& caller);

  Loop& loop_;
  const PlannerLimits limits_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::map<std::string, std::size_t> of_caller_;  // guarded by mutex_
  shell::Workers workers_;
};

}  // namespace berth::controld
