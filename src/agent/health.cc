#include "agent/health.h"

#include <algorithm>
#include <utility>

#include "agent/restart.h"
#include "base/alarms.h"

namespace berth::agent {
namespace {

constexpr Duration kShortestPeriod = 100ms;  // whatever is asked for, checks must not be a storm
constexpr Duration kLeastPatience = 10s;

}  // namespace

Health::Health(const model::HealthCheck& check, Time now, First first)
    : check_(check),
      period_(std::max(bounded(check.period), kShortestPeriod)),
      failures_(std::max(check.failures, 1U)),
      forgives_silence_(first == First::MayBeSlow),
      forgives_until_(now + bounded(check.start_period)),
      next_(now) {}

Time Health::due() const { return asked_ ? *asked_ + std::max(period_, kLeastPatience) : next_; }

bool Health::ask(Time now) {
  if (now < due()) return false;
  if (asked_ && has_begun_ && !std::exchange(forgives_silence_, false)) {
    failed(now, "no answer for " + to_text(std::max(period_, kLeastPatience)));
  }
  if (has_failed()) return false;
  is_asked_again_ = asked_ && !has_begun_;
  asked_ = now;
  has_begun_ = false;
  return true;
}

void Health::begun(Time now) {
  if (!asked_ || has_begun_) return;
  asked_ = now;
  has_begun_ = true;
}

void Health::answered(Time now, bool healthy, const std::string& message) {
  if (!asked_) return;
  next_ = std::max(now, *asked_ + period_);
  asked_.reset();
  forgives_silence_ = false;
  if (!healthy) return failed(now, message);
  has_passed_ = true;
  failed_in_a_row_ = 0;
}

void Health::failed(Time now, std::string message) {
  if (has_passed_ || now >= forgives_until_) ++failed_in_a_row_;
  message_ = std::move(message);
}

}  // namespace berth::agent
