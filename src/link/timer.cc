#include "link/timer.h"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>

#include <utility>

namespace berth::link {

Timer::Timer() = default;
Timer::~Timer() = default;

void Timer::set(std::chrono::milliseconds after, std::function<void()> then) {
  const gpr_timespec deadline =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(after.count(), GPR_TIMESPAN));
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(deadline, [then = std::move(then)](bool expired) {
    if (expired) then();
  });
}

void Timer::stop() { alarm_.reset(); }

}  // namespace berth::link
