#include "runtime/supervision/health_check.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using shim::Fd;

constexpr std::size_t kStatusLineBytesMax = 1024;
constexpr std::size_t kCheckOutputBytesMax = 200;

HealthAnswer unhealthy(std::string message) { return {.message = std::move(message)}; }

// False: the deadline came first.
bool wait_for(int fd, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd source{fd, events, 0};
    const int ready = ::poll(&source, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

int open_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

Result<Fd> connect_to(const HealthTarget& target, std::uint16_t port, Clock::time_point until) {
  const auto failed = [&](std::string_view why) {
    return Error{Code::Unavailable, fmt::format("cannot connect to port {}: {}", port, why)};
  };
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (::inet_pton(AF_INET, target.address.c_str(), &to.sin_addr) != 1)
    return failed("no such address");
  Fd socket(target.open_socket ? target.open_socket() : open_socket());
  if (!socket.is_open()) return failed(std::strerror(errno));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return socket;
  if (errno != EINPROGRESS) return failed(std::strerror(errno));
  if (!wait_for(socket.get(), POLLOUT, until)) return failed("no answer in time");
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failed(std::strerror(error));
  return socket;
}

HealthAnswer check(const model::TcpCheck& tcp, const HealthTarget& target, Runtime&,
                   Clock::time_point until) {
  const auto connected = connect_to(target, tcp.port, until);
  return connected ? HealthAnswer{.healthy = true} : unhealthy(connected.error().message);
}

Result<std::string> ask(int socket, std::string_view request, Clock::time_point until) {
  while (!request.empty()) {
    const ssize_t sent = ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent > 0) request.remove_prefix(static_cast<std::size_t>(sent));
    if (sent > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return Error{Code::Unavailable, std::strerror(errno)};
    if (!wait_for(socket, POLLOUT, until)) return Error{Code::Unavailable, "no answer in time"};
  }
  std::string answer;
  char part[512];
  while (answer.find('\n') == std::string::npos && answer.size() < kStatusLineBytesMax) {
    if (!wait_for(socket, POLLIN, until)) return Error{Code::Unavailable, "no answer in time"};
    const ssize_t got = ::recv(socket, part, sizeof part, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    answer.append(part, static_cast<std::size_t>(got));
  }
  return answer;
}

// "HTTP/1.1 200 OK"
std::optional<int> status_of(std::string_view answer) {
  const std::size_t space = answer.find(' ');
  if (!answer.starts_with("HTTP/") || space > 10 || answer.size() < space + 4) return std::nullopt;
  int status = 0;
  for (const char c : answer.substr(space + 1, 3)) {
    if (c < '0' || c > '9') return std::nullopt;
    status = status * 10 + (c - '0');
  }
  return status;
}

HealthAnswer check(const model::HttpCheck& http, const HealthTarget& target, Runtime&,
                   Clock::time_point until) {
  // What a path may be is checked where manifests are read; a request stays one request anyway.
  const bool is_one_line = std::all_of(http.path.begin(), http.path.end(),
                                       [](unsigned char c) { return c > ' ' && c != 0x7f; });
  if (!is_one_line) return unhealthy("the path has characters that a request cannot have");
  const auto connected = connect_to(target, http.port, until);
  if (!connected) return unhealthy(connected.error().message);
  const std::string request = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: berth\r\nConnection: close\r\n\r\n", http.path,
      target.address, http.port);
  const auto answer = ask(connected->get(), request, until);
  if (!answer) return unhealthy(fmt::format("GET {}: {}", http.path, answer.error().message));
  const auto status = status_of(*answer);
  if (!status) return unhealthy(fmt::format("GET {}: the answer is not HTTP", http.path));
  if (*status >= 200 && *status < 400) return {.healthy = true};
  return unhealthy(fmt::format("GET {}: status {}", http.path, *status));
}

// What the exec's thread and the one that waits share.
struct ExecOutcome {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::int32_t> code;
  std::string output;
};

ExecListener listener_of(ExecOutcome& outcome) {
  return {.output =
              [&outcome](std::string_view output, bool) {
                const std::lock_guard lock(outcome.mutex);
                const std::size_t room = kCheckOutputBytesMax - outcome.output.size();
                outcome.output.append(output.substr(0, room));
              },
          .ended =
              [&outcome](std::int32_t code) {
                const std::lock_guard lock(outcome.mutex);
                outcome.code = code;
                outcome.changed.notify_all();
              }};
}

HealthAnswer check(const model::ExecCheck& exec, const HealthTarget& target, Runtime& runtime,
                   Clock::time_point until) {
  ExecOutcome outcome;
  const auto session = runtime.exec_check(target.key, {.command = exec.argv}, listener_of(outcome));
  if (!session) return unhealthy(session.error().message);
  (*session)->close_input();
  std::unique_lock lock(outcome.mutex);
  outcome.changed.wait_until(lock, until, [&] { return outcome.code.has_value(); });
  if (!outcome.code) return unhealthy("the check did not end in time");
  if (*outcome.code == 0) return {.healthy = true};
  while (!outcome.output.empty() && outcome.output.back() == '\n') outcome.output.pop_back();
  return unhealthy(fmt::format("the check ended with {}{}{}", *outcome.code,
                               outcome.output.empty() ? "" : ": ", outcome.output));
}

}  // namespace

HealthAnswer check_health(const model::HealthCheck& check_it, const HealthTarget& target,
                          Runtime& runtime, Duration deadline) {
  const auto until = Clock::now() + deadline;
  return std::visit([&](const auto& probe) { return check(probe, target, runtime, until); },
                    check_it.probe);
}

}  // namespace berth::runtime
