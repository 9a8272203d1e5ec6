#include "session/poller.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "shell/clock.h"

namespace berth::session {

Result<std::unique_ptr<Poller>> Poller::open() {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  Fd waker(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (!epoll.is_open() || !waker.is_open() ||
      ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, waker.get(), &event) != 0) {
    return Error{Code::Exhausted, fmt::format("cannot wait for sockets: {}", std::strerror(errno))};
  }
  return std::unique_ptr<Poller>(new Poller(std::move(epoll), std::move(waker)));
}

Poller::~Poller() { stop(); }

void Poller::start(Hooks hooks) {
  CHECK(!thread_.joinable(), "started once");
  hooks_ = std::move(hooks);
  thread_ = std::thread([this] { run(); });
}

void Poller::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake();
  thread_.join();
}

void Poller::wake() {
  const std::uint64_t one = 1;
  // It fails only when it is awake already.
  [[maybe_unused]] const auto written = ::write(waker_.get(), &one, sizeof one);
}

void Poller::run() {
  std::array<epoll_event, 64> events{};
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), wait_ms());
    CHECK(count >= 0 || errno == EINTR, "epoll works");
    for (int i = 0; i < count; ++i) say_ready(events[i].data.u64, events[i].events);
    {
      const auto lock = enter();
      next_ = hooks_.tend(shell::now());
    }
    hooks_.deliver();
  }
}

int Poller::wait_ms() const {
  if (!next_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next_ - shell::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

void Poller::say_ready(std::uint64_t number, std::uint32_t events) {
  if (number == 0) {
    std::uint64_t ignored = 0;
    [[maybe_unused]] const auto taken = ::read(waker_.get(), &ignored, sizeof ignored);
    return;
  }
  const auto lock = enter();
  const auto found = watches_.find(number);
  if (found == watches_.end()) return;
  const Watch::Ready ready = found->second->ready_;  // outlives its watch
  ready(events);
}

Watch::Watch(Poller& poller, Fd fd, Ready ready)
    : poller_(poller),
      fd_(std::move(fd)),
      ready_(std::move(ready)),
      number_(++poller.last_number_) {
  poller_.watches_.emplace(number_, this);
}

Watch::~Watch() {
  // A child that is being started may hold the descriptor for a moment longer than we do.
  [[maybe_unused]] const bool done = want(0);
  poller_.watches_.erase(number_);
}

bool Watch::want(std::uint32_t events) {
  if (events == wanted_) return true;
  const int change = wanted_ == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  epoll_event event{};
  event.events = events;
  event.data.u64 = number_;
  if (::epoll_ctl(poller_.epoll_.get(), change, fd_.get(), &event) != 0) return false;
  wanted_ = events;
  return true;
}

}  // namespace berth::session
