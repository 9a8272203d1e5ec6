#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <functional>
#include <optional>

#include "base/time.h"
#include "client/client.h"

namespace berth::client {

// Waits for asynchronous operations one at a time, so that what reads as a blocking call still has
// deadlines and can be given up at any moment.
class Pump {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pump(Tick tick = {}) : tick_(std::move(tick)) {}

  boost::asio::io_context& context() { return context_; }
  void set_deadline(std::optional<Duration> from_now);

  // Whether the tick has said that it is enough.
  bool stopped() const { return stopped_; }

  // Starts an operation with a handler for its end and waits for it. At the deadline (error
  // timed_out), and if the tick says so (operation_aborted), `abort` must make it end at once.
  template <class Start>
  boost::system::error_code await(const std::function<void()>& abort, const Start& start) {
    boost::system::error_code error;
    bool done = false;
    start([&](boost::system::error_code result, const auto&...) {
      error = result;
      done = true;
    });
    const boost::system::error_code given_up = run_until(done, abort);
    return given_up ? given_up : error;
  }

 private:
  boost::system::error_code run_until(const bool& done, const std::function<void()>& abort);

  boost::asio::io_context context_{1};
  Tick tick_;
  std::optional<Clock::time_point> deadline_;
  bool stopped_ = false;
};

}  // namespace berth::client
