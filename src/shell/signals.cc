#include "shell/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "shell/clock.h"

namespace berth::shell {
namespace {

// For poll: rounded up, so that the time has come when it returns.
int millis_until(std::optional<Time> until) {
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

}  // namespace

Result<Signals> Signals::block(std::initializer_list<int> others) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  for (const int other : others) sigaddset(&signals, other);
  const int failed = pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (failed != 0) return Error{Code::Internal, std::string("signals: ") + std::strerror(failed)};
  std::signal(SIGPIPE, SIG_IGN);
  const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor < 0) return Error{Code::Internal, std::string("signals: ") + std::strerror(errno)};
  return Signals(descriptor);
}

Signals::Signals(Signals&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Signals::~Signals() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<int> Signals::wait(std::optional<Time> until) {
  while (true) {
    signalfd_siginfo came{};
    if (read(descriptor_, &came, sizeof came) == sizeof came)
      return static_cast<int>(came.ssi_signo);
    if (until && now() >= *until) return std::nullopt;
    pollfd watched{descriptor_, POLLIN, 0};
    poll(&watched, 1, millis_until(until));
  }
}

}  // namespace berth::shell
