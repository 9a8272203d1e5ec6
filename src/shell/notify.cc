#include "shell/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace berth::shell {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

void notify(std::string_view message) {
  const std::string_view path = variable("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // an abstract socket
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  sendto(descriptor, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), length);
  close(descriptor);
}

}  // namespace

void notify_ready() { notify("READY=1"); }
void notify_stopping() { notify("STOPPING=1"); }
void notify_alive() { notify("WATCHDOG=1"); }
void notify_status(std::string_view what) { notify("STATUS=" + std::string(what)); }

std::optional<Duration> watchdog_interval() {
  const auto micros = number(variable("WATCHDOG_USEC"));
  if (!micros || *micros <= 0) return std::nullopt;
  const auto meant_for = number(variable("WATCHDOG_PID"));
  if (meant_for && *meant_for != getpid()) return std::nullopt;
  return Duration(*micros / 2);
}

}  // namespace berth::shell
