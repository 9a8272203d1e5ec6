#include "runtime/component/crash_points.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "codec/scalar.h"

namespace berth::runtime {
namespace {

struct CrashRequest {
  CrashPoint point = CrashPoint::Asked;
  std::uint32_t times = 1;
};

Result<std::optional<CrashRequest>> read_request() {
  const char* variable = ::getenv(kCrashVariable);
  if (variable == nullptr || *variable == '\0') return std::optional<CrashRequest>();
  const std::string_view text = variable;
  const std::size_t colon = text.find(':');
  const auto point = model::from_string<CrashPoint>(text.substr(0, colon));
  if (!point) {
    return invalid_input(fmt::format(
        "{}: there is no crash point \"{}\"; berth-agent --list-crash-points names them",
        kCrashVariable, text.substr(0, colon)));
  }
  CrashRequest request{.point = *point};
  if (colon != std::string_view::npos) {
    request.times = TRY(codec::parse_integer<std::uint32_t>(text.substr(colon + 1), 1));
  }
  return std::optional(request);
}

}  // namespace

void pass(CrashPoint point) {
  static const std::optional<CrashRequest> request = [] {
    const auto read = read_request();
    return read ? *read : std::nullopt;
  }();
  static std::atomic<std::uint32_t> passed = 0;
  if (!request || request->point != point || ++passed != request->times) return;
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

Result<void> check_crash_variable() {
  TRY(read_request());
  return {};
}

}  // namespace berth::runtime
