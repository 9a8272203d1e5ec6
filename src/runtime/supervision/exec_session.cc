#include "runtime/supervision/exec_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

constexpr char kEndOfInput = 4;  // Ctrl-D

using shim::Fd;

Error session_failure(std::string_view what) {
  return {Code::Unavailable, fmt::format("{}: {}", what, std::strerror(errno))};
}

// Our ends, and those of the program.
struct Channels {
  Fd input, output, error;
  Fd their_input, their_output, their_error;
};

Result<Channels> open_pipes() {
  auto input = shim::make_pipe();
  auto output = shim::make_pipe();
  auto error = shim::make_pipe();
  if (!input || !output || !error) return session_failure("no pipes");
  return Channels{std::move(input->write), std::move(output->read),  std::move(error->read),
                  std::move(input->read),  std::move(output->write), std::move(error->write)};
}

// Nothing typed means anything to this terminal, from the first byte on.
void make_raw(int terminal) {
  termios mode{};
  if (::tcgetattr(terminal, &mode) != 0) return;
  ::cfmakeraw(&mode);
  ::tcsetattr(terminal, TCSANOW, &mode);
}

Result<Channels> open_terminal(const ExecRequest& request, const ExecPlan& plan) {
  Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[128];
  if (!master.is_open() || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
      ::ptsname_r(master.get(), name, sizeof name) != 0) {
    return session_failure("no terminal");
  }
  Fd theirs(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!theirs.is_open()) return session_failure("no terminal");
  if (plan.has_inner_terminal) make_raw(theirs.get());
  const winsize size{.ws_row = request.rows, .ws_col = request.columns};
  ::ioctl(master.get(), TIOCSWINSZ, &size);
  Channels channels;
  channels.input = Fd(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
  channels.output = std::move(master);
  channels.their_output = Fd(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 3));
  channels.their_error = Fd(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 3));
  channels.their_input = std::move(theirs);
  return channels;
}

// Writing to a program that is gone must not kill us, whoever we are.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec none{};
    if (::sigismember(&before_, SIGPIPE) == 0) {
      while (::sigtimedwait(&set_, nullptr, &none) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t set_;
  sigset_t before_;
};

class Session final : public ExecSession {
 public:
  Session(pid_t pid, Channels channels, ExecPlan plan, bool terminal, ExecListener listener)
      : pid_(pid),
        terminal_(terminal),
        plan_(std::move(plan)),
        listener_(std::move(listener)),
        handle_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
        input_(std::move(channels.input)),
        output_(std::move(channels.output)),
        error_(std::move(channels.error)) {
    for (const Fd* fd : std::initializer_list<const Fd*>{&input_, &output_, &error_}) {
      if (fd->is_open()) ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
    }
    thread_ = std::thread([this] { pass_on(); });
  }

  ~Session() override {
    kill_it();
    thread_.join();
    if (!plan_.inner_pid_file.empty()) ::unlink(plan_.inner_pid_file.c_str());
  }

  Result<std::size_t> write(std::string_view input, Duration wait) override {
    const std::lock_guard lock(input_mutex_);
    if (!input_.is_open()) return Error{Code::Conflict, "the input is closed"};
    const WithoutSigpipe without;
    std::size_t taken = 0;
    while (taken < input.size()) {
      const ssize_t done = ::write(input_.get(), input.data() + taken, input.size() - taken);
      if (done >= 0) {
        taken += static_cast<std::size_t>(done);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return session_failure("cannot write");
      pollfd room{input_.get(), POLLOUT, 0};
      if (::poll(&room, 1, static_cast<int>(wait / 1ms)) == 0) break;
    }
    return taken;
  }

  void close_input() override {
    if (terminal_) {
      static_cast<void>(write({&kEndOfInput, 1}, 1s));
      return;
    }
    const std::lock_guard lock(input_mutex_);
    input_.reset();
  }

  void resize(std::uint16_t rows, std::uint16_t columns) override {
    if (!terminal_) return;
    const winsize size{.ws_row = rows, .ws_col = columns};
    ::ioctl(output_.get(), TIOCSWINSZ, &size);
  }

 private:
  // Until the program has ended, and what it said was passed on.
  void pass_on() {
    bool has_output = true;
    bool has_error = error_.is_open();
    for (bool running = true; running;) {
      pollfd sources[3] = {{handle_.get(), POLLIN, 0},
                           {has_output ? output_.get() : -1, POLLIN, 0},
                           {has_error ? error_.get() : -1, POLLIN, 0}};
      if (::poll(sources, 3, -1) < 0) continue;
      running = sources[0].revents == 0;
      if (sources[1].revents != 0 || !running) has_output = has_output && drain(output_, false);
      if (sources[2].revents != 0 || !running) has_error = has_error && drain(error_, true);
    }
    int status = 0;
    {
      const std::lock_guard lock(pid_mutex_);
      while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
      pid_ = -1;
    }
    if (listener_.ended) {
      listener_.ended(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
  }

  // False: there will be no more.
  bool drain(const Fd& from, bool is_error) {
    char part[16 << 10];
    for (;;) {
      const ssize_t got = ::read(from.get(), part, sizeof part);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got < 0 && errno == EAGAIN;
      if (listener_.output) listener_.output({part, static_cast<std::size_t>(got)}, is_error);
    }
  }

  void kill_it() {
    const std::lock_guard lock(pid_mutex_);
    if (pid_ < 0) return;
    const auto inner = plan_.inner_pid_file.empty()
                           ? std::nullopt
                           : shim::read_file(AT_FDCWD, plan_.inner_pid_file.c_str(), 64);
    const auto number = inner ? shim::parse_number(*inner) : std::nullopt;
    if (number && *number > 1) ::kill(static_cast<pid_t>(*number), SIGKILL);
    ::kill(-pid_, SIGKILL);
  }

  std::mutex pid_mutex_;
  pid_t pid_;  // -1: reaped
  const bool terminal_;
  const ExecPlan plan_;
  const ExecListener listener_;
  const Fd handle_;
  std::mutex input_mutex_;
  Fd input_;
  const Fd output_;
  const Fd error_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<ExecSession>> open_session(ExecPlan plan, const ExecRequest& request,
                                                  ExecListener listener) {
  Channels channels = TRY(request.terminal ? open_terminal(request, plan) : open_pipes());
  plan.program.input = channels.their_input.get();
  plan.program.output = channels.their_output.get();
  plan.program.error = channels.their_error.get();
  plan.program.has_terminal = request.terminal;
  const shim::Spawned spawned = shim::spawn(plan.program);
  if (!spawned.is_running()) return invalid_input(spawned.error);
  for (Fd* fd : {&channels.their_input, &channels.their_output, &channels.their_error}) {
    fd->reset();
  }
  return std::make_unique<Session>(spawned.pid, std::move(channels), std::move(plan),
                                   request.terminal, std::move(listener));
}

}  // namespace berth::runtime
