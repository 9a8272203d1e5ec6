#include "runtime/supervision/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/check.h"

namespace berth::runtime {

using Clock = std::chrono::steady_clock;

Interrupt::Interrupt() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(event_.is_open(), "no descriptor to wait with");
}

void Interrupt::raise() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

bool Interrupt::wait(Duration time) const {
  const auto until = Clock::now() + time;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const auto patience = std::min<std::int64_t>(std::max<std::int64_t>(left, 0), 60'000);
    pollfd source{event_.get(), POLLIN, 0};
    if (::poll(&source, 1, static_cast<int>(patience)) > 0) return true;
    if (Clock::now() >= until) return false;
  }
}

}  // namespace berth::runtime
