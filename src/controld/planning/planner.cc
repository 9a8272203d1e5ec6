#include "controld/planning/planner.h"

#include <fmt/format.h>

#include <chrono>

#include "shell/clock.h"

namespace berth::controld {
namespace {

const Error kTooManyPlans{Code::Unavailable, "too many plans are being made; try again"};
const Error kPlannerStops{Code::Unavailable, "the control plane is stopping"};

std::string name_of(const api::Caller& caller) {
  return caller.identity ? trust::to_string(*caller.identity) : caller.address;
}

}  // namespace

Planner::Planner(Loop& loop, const PlannerLimits& limits)
    : loop_(loop), limits_(limits), workers_(limits.threads, limits.waiting) {}

Planner::~Planner() { stop(); }

void Planner::submit(const api::CallPtr& call, Task task) {
  const std::string caller = name_of(call->caller());
  if (!enter(caller)) return call->fail(kTooManyPlans);
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  call->when_over([is_over] { *is_over = true; });
  const auto work = [this, caller, is_over, task = std::move(task)] {
    const Time until = shell::now() + limits_.time;
    const auto is_wanted = [this, &is_over, until] {
      return !*is_over && !stopping_ && shell::now() < until;
    };
    if (is_wanted()) task(is_wanted);
    leave(caller);
  };
  if (workers_.submit(caller, work)) return;
  leave(caller);
  call->fail(kTooManyPlans);
}

bool Planner::enter(const std::string& caller) {
  const std::lock_guard lock(mutex_);
  std::size_t& count = of_caller_[caller];
  if (stopping_ || count >= limits_.of_caller) return false;
  ++count;
  return true;
}

void Planner::leave(const std::string& caller) {
  const std::lock_guard lock(mutex_);
  if (--of_caller_.at(caller) == 0) of_caller_.erase(caller);
}

Error Planner::why_given_up() const {
  if (stopping_) return kPlannerStops;
  return {Code::Exhausted,
          fmt::format("the plan was not done after {} s; ask for less at once",
                      std::chrono::duration_cast<std::chrono::seconds>(limits_.time).count())};
}

void Planner::stop() {
  stopping_ = true;
  workers_.stop();
}

}  // namespace berth::controld
