#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <memory>

#include "base/time.h"

namespace berth::controld::http {

// As a coroutine calls what may fail: co_await stream.async_something(..., into(error)).
inline auto into(boost::beast::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

// Lets a coroutine wait for something that another thread does.
class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  explicit Waiter(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  // From any thread.
  void wake() {
    boost::asio::post(timer_.get_executor(), [self = shared_from_this()] {
      self->woken_ = true;
      self->timer_.cancel();
    });
  }

  boost::asio::awaitable<void> wait(Duration at_most = Duration::max()) {
    if (!woken_) {
      at_most == Duration::max() ? timer_.expires_at(boost::asio::steady_timer::time_point::max())
                                 : timer_.expires_after(at_most);
      boost::beast::error_code ignored;
      co_await timer_.async_wait(into(ignored));
    }
    woken_ = false;
  }

 private:
  boost::asio::steady_timer timer_;
  bool woken_ = false;
};

}  // namespace berth::controld::http
