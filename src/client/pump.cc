#include "client/pump.h"

#include <boost/asio/error.hpp>

namespace berth::client {
namespace {

constexpr std::chrono::milliseconds kTickEvery{100};

}  // namespace

void Pump::set_deadline(std::optional<Duration> from_now) {
  deadline_ = from_now ? std::optional(Clock::now() + *from_now) : std::nullopt;
}

boost::system::error_code Pump::run_until(const bool& done, const std::function<void()>& abort) {
  namespace error = boost::asio::error;
  boost::system::error_code given_up;
  context_.restart();
  Clock::time_point next_tick = Clock::now() + kTickEvery;
  while (!done && !given_up) {
    Clock::time_point until = tick_ ? next_tick : Clock::now() + std::chrono::hours(1);
    if (deadline_) until = std::min(until, *deadline_);
    context_.run_one_until(until);
    const Clock::time_point now = Clock::now();
    if (!done && deadline_ && now >= *deadline_) given_up = error::timed_out;
    if (tick_ && now >= next_tick) {
      next_tick = now + kTickEvery;
      stopped_ = !tick_();
      if (stopped_) given_up = error::operation_aborted;
    }
  }
  if (!given_up || done) return given_up;
  abort();
  while (!done && context_.run_one() > 0) {
  }
  return given_up;
}

}  // namespace berth::client
