#include "runtime/supervision/command.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "codec/scalar.h"
#include "runtime/shim/files.h"
#include "runtime/shim/spawn.h"

namespace berth::runtime {
namespace {

constexpr std::size_t kOutputBytesMax = 64 << 10;

using Clock = std::chrono::steady_clock;

void append_bounded(std::string& output, std::string_view part) {
  output.append(part);
  if (output.size() > 2 * kOutputBytesMax) output.erase(0, output.size() - kOutputBytesMax);
}

int left_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void read_some(int fd, std::string& output) {
  char part[4096];
  const ssize_t got = ::read(fd, part, sizeof part);
  if (got > 0) append_bounded(output, {part, static_cast<std::size_t>(got)});
}

// In memory, to be read from its beginning. A pipe would have to be fed while the program talks.
shim::Fd file_with(std::string_view content) {
  shim::Fd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.is_open() || !shim::write_all(file.get(), content)) return {};
  return ::lseek(file.get(), 0, SEEK_SET) == 0 ? std::move(file) : shim::Fd();
}

enum class Wait { Ended, Late, Interrupted };

// Its end counts, not that of its output: it may leave somebody behind who holds that open.
Wait read_until_end(pid_t pid, int fd, int interrupt, Clock::time_point until,
                    std::string& output) {
  const shim::Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  bool has_output = true;
  for (;;) {
    pollfd sources[3] = {
        {handle.get(), POLLIN, 0}, {has_output ? fd : -1, POLLIN, 0}, {interrupt, POLLIN, 0}};
    const int ready = ::poll(sources, 3, left_ms(until));
    if (ready < 0) continue;
    if (ready == 0 && Clock::now() >= until) return Wait::Late;
    if (sources[2].revents != 0) return Wait::Interrupted;
    if ((sources[1].revents & POLLIN) != 0) {
      read_some(fd, output);
      continue;
    }
    if (sources[1].revents != 0) has_output = false;
    if (sources[0].revents != 0) return Wait::Ended;
  }
}

}  // namespace

Result<CommandOutcome> run_command(const std::vector<std::string>& argv, Duration deadline,
                                   std::string_view input) {
  return run_command(argv, CommandLimits{.deadline = deadline, .input = input});
}

// With us is with this thread, which waits for it.
Result<CommandOutcome> run_command(const std::vector<std::string>& argv,
                                   const CommandLimits& limits) {
  auto output = shim::make_pipe();
  if (!output) return Error{Code::Unavailable, "no pipe"};
  const shim::Fd given = limits.input.empty() ? shim::Fd() : file_with(limits.input);
  if (!limits.input.empty() && !given.is_open())
    return Error{Code::Unavailable, "no memory for a file"};
  const shim::Spawned spawned = shim::spawn({.argv = argv,
                                             .env = shim::own_environment(),
                                             .input = given.get(),
                                             .output = output->write.get(),
                                             .error = output->write.get(),
                                             .dies_with_parent = limits.dies_with_us});
  if (!spawned.is_running()) return not_found(spawned.error);
  output->write.reset();
  CommandOutcome outcome;
  const Wait wait = read_until_end(spawned.pid, output->read.get(), limits.interrupt,
                                   Clock::now() + limits.deadline, outcome.output);
  if (wait != Wait::Ended) ::kill(-spawned.pid, SIGKILL);
  int status = 0;
  while (::waitpid(spawned.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (wait == Wait::Interrupted) {
    return Error{Code::Unavailable, argv.front() + " was interrupted"};
  }
  if (wait == Wait::Late) {
    return Error{Code::Unavailable, fmt::format("{} took more than {}", argv.front(),
                                                codec::Scalar<Duration>::text(limits.deadline))};
  }
  outcome.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

std::string last_words(std::string_view output) {
  while (!output.empty() && output.back() == '\n') output.remove_suffix(1);
  return std::string(output.substr(output.size() - std::min<std::size_t>(output.size(), 500)));
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    struct stat file {};
    const bool is_file = ::stat(name.c_str(), &file) == 0 && S_ISREG(file.st_mode);
    return is_file && ::access(name.c_str(), X_OK) == 0 ? name : "";
  }
  const char* path = ::getenv("PATH");
  std::string places = path != nullptr ? path : "";
  places += ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  for (std::string_view rest = places; !rest.empty();) {
    const std::size_t end = rest.find(':');
    const std::string candidate = fmt::format("{}/{}", rest.substr(0, end), name);
    if (end != 0 && candidate.front() == '/' && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return "";
}

std::string identity_of(const std::string& file) {
  struct stat now {};
  if (::stat(file.c_str(), &now) != 0) return "";
  return fmt::format("{} {} {} {}.{}", file, now.st_ino, now.st_size, now.st_mtim.tv_sec,
                     now.st_mtim.tv_nsec);
}

}  // namespace berth::runtime
