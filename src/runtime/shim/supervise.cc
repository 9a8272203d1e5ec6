#include "runtime/shim/supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/shim/children.h"
#include "runtime/shim/files.h"
#include "runtime/shim/launch.h"
#include "runtime/shim/log_writer.h"
#include "runtime/shim/machine.h"
#include "runtime/shim/oci.h"
#include "runtime/shim/spawn.h"

namespace berth::runtime::shim {
namespace {

constexpr std::int64_t kDefaultGraceMs = 10'000;
constexpr std::int64_t kOrphansMs = 5'000;  // that those left behind have to die
constexpr std::int64_t kFinalResumeMs = 5'000;
constexpr std::int64_t kPressMs = 1'000;  // between two presses of a machine's power button

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::int32_t code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Whether somebody may still come and look at the run's directory.
bool is_still_there() {
  struct stat directory {};
  return ::stat(".", &directory) == 0 && directory.st_nlink > 0;
}

// One run, from its start to its end. The working directory is the run's.
class Run {
 public:
  explicit Run(Fd answer) : answer_(std::move(answer)) {}

  int supervise() {
    if (!take_over()) return 1;
    if (!start()) return 1;
    while (!ending_) wait_for_something();
    finish();
    return 0;
  }

 private:
  bool take_over();
  bool start();
  bool start_program(int output, int error);
  bool start_container(int output, int error);
  bool connect_machine();
  void undo_start();
  bool failed(const std::string& message);

  void wait_for_something();
  int wait_ms() const;
  void take_signals();
  void reap();
  void stop();
  void power_down();
  void stop_finally();

  void keep_output(Fd& from, Stream stream);
  void keep(Stream stream, std::string text);
  void finish();
  void explain_end();
  void end_orphans();
  void leave_cgroups() const;
  Durable durable_end() const { return launch_.ends_unrecorded ? Durable::No : Durable::Yes; }

  Fd answer_;
  Fd lock_;
  Fd signals_;
  Launch launch_;
  LogWriter log_;
  Fd output_;
  Fd error_;
  Machine machine_;
  pid_t program_ = -1;
  std::optional<std::int64_t> kill_at_;
  std::optional<std::int64_t> press_at_;
  std::optional<Ending> ending_;
};

// Locked before anything is read: who removes a run's directory takes the lock first.
bool Run::take_over() {
  lock_ = Fd(::open(kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_.is_open() || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return failed(std::string("cannot lock the run: ") + std::strerror(errno));
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t handled;
  ::sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&handled, number);
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_ = Fd(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) return failed("cannot wait for signals");
  const auto bytes = read_file(AT_FDCWD, kLaunchFile, kLaunchBytesMax);
  const auto launch = bytes ? decode_launch(*bytes) : std::nullopt;
  if (!launch) return failed("what to launch cannot be read");
  launch_ = *launch;
  if (!write_file(AT_FDCWD, kShimFile, std::to_string(::getpid()), Durable::No)) {
    return failed(std::string("cannot write to the run's directory: ") + std::strerror(errno));
  }
  return true;
}

bool Run::start() {
  log_ = LogWriter(launch_.log_directory, launch_.log_bytes, launch_.log_files);
  if (!log_.is_open()) return failed("cannot open the log in " + launch_.log_directory);
  auto output = make_pipe();
  auto error = make_pipe();
  if (!output || !error) return failed("no pipes for its output");
  output_ = std::move(output->read);
  error_ = std::move(error->read);
  for (const Fd* end : {&output_, &error_}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
  const bool started = launch_.is_container()
                           ? start_container(output->write.get(), error->write.get())
                           : start_program(output->write.get(), error->write.get());
  if (!started) return false;
  if (!write_file(AT_FDCWD, kPidFile, std::to_string(program_), Durable::No)) {
    const std::string why = std::strerror(errno);
    undo_start();
    return failed("cannot write to the run's directory: " + why);
  }
  static_cast<void>(write_all(answer_.get(), std::string(kStarted) + "\n"));
  answer_.reset();
  return true;
}

bool Run::start_program(int output, int error) {
  const Spawned spawned = spawn({.argv = launch_.argv,
                                 .env = launch_.env,
                                 .directory = launch_.directory,
                                 .output = output,
                                 .error = error,
                                 .user = launch_.user,
                                 .open_files = launch_.open_files,
                                 .data_bytes = launch_.data_bytes,
                                 .network_namespace = launch_.network_namespace,
                                 .cgroup_files = launch_.cgroup_files,
                                 .dies_with_parent = true});
  if (!spawned.is_running()) {
    leave_cgroups();
    return failed(spawned.error);
  }
  program_ = spawned.pid;
  return !launch_.is_machine || connect_machine();
}

// An emulator says on its standard error what it does not like.
bool Run::connect_machine() {
  if (machine_.connect(program_)) return true;
  undo_start();
  const std::string said = sentence_of(read_what_is_there(error_.get()));
  return failed(said.empty() ? "the emulator does not answer" : said);
}

void Run::undo_start() {
  if (launch_.is_container()) {
    static_cast<void>(oci_delete(launch_));
    return;
  }
  ::kill(-program_, SIGKILL);
  end_orphans();
  leave_cgroups();
}

// Until the container is told to start, all that comes through the pipes is the OCI runtime's.
bool Run::start_container(int output, int error) {
  const OciOutcome created = oci_create(launch_, kCreatedFile, output, error);
  if (!created.succeeded) {
    const std::string said = sentence_of(read_what_is_there(error_.get()));
    static_cast<void>(oci_delete(launch_));
    return failed(said.empty() ? created.message : said);
  }
  const auto pid = read_file(AT_FDCWD, kCreatedFile, 64);
  const auto number = pid ? parse_number(*pid) : std::nullopt;
  if (!number || *number == 0) {
    static_cast<void>(oci_delete(launch_));
    return failed("the OCI runtime did not tell the container's process");
  }
  program_ = static_cast<pid_t>(*number);
  const OciOutcome started = oci_start(launch_);
  if (started.succeeded) return true;
  static_cast<void>(oci_delete(launch_));
  return failed(started.message);
}

// Written down too, for an agent that is not there to hear it.
bool Run::failed(const std::string& message) {
  const Ending ending{.code = 127, .reason = "StartFailed", .message = message};
  if (lock_.is_open()) {
    static_cast<void>(write_file(AT_FDCWD, kExitFile, encode(ending), durable_end()));
  }
  lock_.reset();  // who hears it may take the directory away
  static_cast<void>(write_all(answer_.get(), "failed\n" + ending.reason + "\n" + message));
  answer_.reset();
  return false;
}

void Run::wait_for_something() {
  pollfd sources[5] = {{signals_.get(), POLLIN, 0},
                       {output_.get(), POLLIN, 0},
                       {error_.get(), POLLIN, 0},
                       {machine_.monitor(), POLLIN, 0},
                       {machine_.exit_port(), POLLIN, 0}};
  if (::poll(sources, 5, wait_ms()) < 0) return;
  if (sources[1].revents != 0) keep_output(output_, Stream::Output);
  if (sources[2].revents != 0) keep_output(error_, Stream::Error);
  if (sources[3].revents != 0 || sources[4].revents != 0) machine_.listen();
  if (sources[0].revents != 0) take_signals();
  if (press_at_ && now_ms() >= *press_at_ && !ending_) power_down();
  if (kill_at_ && now_ms() >= *kill_at_ && !ending_) stop_finally();
}

int Run::wait_ms() const {
  if (!kill_at_) return -1;
  const std::int64_t next = press_at_ ? std::min(*press_at_, *kill_at_) : *kill_at_;
  return static_cast<int>(std::clamp<std::int64_t>(next - now_ms(), 0, 3'600'000));
}

void Run::take_signals() {
  signalfd_siginfo signal{};
  bool asked_to_stop = false;
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGTERM) asked_to_stop = true;
  }
  reap();
  if (asked_to_stop && !ending_) stop();
}

void Run::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    if (pid == program_) ending_ = Ending{.code = code_of(status)};
  }
}

// The program is our child and not yet reaped, so that its number is surely its own.
void Run::stop() {
  const auto file = read_file(AT_FDCWD, kStopFile, 64);
  const auto asked = file ? parse_number(*file) : std::nullopt;
  const std::int64_t grace =
      asked ? static_cast<std::int64_t>(std::min<std::uint64_t>(*asked, 86'400'000))
            : kDefaultGraceMs;
  const std::int64_t at = now_ms() + grace;
  kill_at_ = kill_at_ ? std::min(*kill_at_, at) : at;
  if (launch_.is_container()) {
    ::kill(program_, SIGTERM);  // first: who resumes it may hang
    if (::access(kPausedFile, F_OK) == 0) oci_resume(launch_, std::max<std::int64_t>(grace, 1000));
  } else if (launch_.is_machine) {
    power_down();  // an emulator that gets a signal ends at once, and with it the guest
  } else {
    ::kill(-program_, SIGTERM);
    ::kill(-program_, SIGCONT);
  }
}

// Again and again: a guest that is still on its way up does not see it.
void Run::power_down() {
  machine_.power_down();
  press_at_ = now_ms() + kPressMs;
}

void Run::stop_finally() {
  kill_at_ = now_ms() + 1000;  // once more, should it be frozen in between
  if (!launch_.is_container()) {
    ::kill(-program_, SIGKILL);
    return;
  }
  ::kill(program_, SIGKILL);
  if (::access(kPausedFile, F_OK) == 0) oci_resume(launch_, kFinalResumeMs);
}

void Run::keep_output(Fd& from, Stream stream) {
  char part[16 << 10];
  const ssize_t got = ::read(from.get(), part, sizeof part);
  if (got > 0) return keep(stream, std::string(part, static_cast<std::size_t>(got)));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  from.reset();
  log_.finish(stream);
}

// Consoles end their lines as teletypes did.
void Run::keep(Stream stream, std::string text) {
  if (launch_.is_machine) std::erase(text, '\r');
  log_.feed(stream, text);
}

void Run::finish() {
  explain_end();
  if (launch_.is_container()) {
    oci_delete(launch_);
  } else {
    end_orphans();
  }
  leave_cgroups();
  for (auto [from, stream] : {std::pair(&output_, Stream::Output), {&error_, Stream::Error}}) {
    if (!from->is_open()) continue;
    keep(stream, read_what_is_there(from->get()));
    log_.finish(stream);
  }
  // With no room on the disk there is nothing better to do than to go on trying.
  for (int i = 0; i < 600 && is_still_there(); ++i) {
    if (write_file(AT_FDCWD, kExitFile, encode(*ending_), durable_end())) return;
    ::poll(nullptr, 0, 1000);
  }
}

void Run::explain_end() {
  if (ending_->code == 128 + SIGKILL && ran_out_of_memory(launch_)) {
    ending_->reason = "OutOfMemory";
    ending_->message = "it used more memory than its quota";
  }
  if (!launch_.is_machine || ending_->code != 0) return;
  machine_.listen();
  ending_ = machine_.ending().value_or(*ending_);
}

// Those that are empty now; the agent made them.
void Run::leave_cgroups() const {
  for (const std::string& file : launch_.cgroup_files) {
    ::rmdir(file.substr(0, file.rfind('/')).c_str());
  }
}

// All that the program has left behind, wherever it went, is our child by now or will be.
void Run::end_orphans() {
  const std::int64_t until = now_ms() + kOrphansMs;
  for (;;) {
    kill_children();
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 || now_ms() > until) return;
    if (pid == 0) ::poll(nullptr, 0, 2);
  }
}

// The status channel moves out of the way of what is to come.
Fd take_answer() {
  Fd answer(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int place = 0; place < 3; ++place) ::dup2(nothing.get(), place);
  return answer;
}

}  // namespace

int supervise(const char* run_directory) {
  if (::chdir(run_directory) != 0) return 1;
  const pid_t first = ::fork();
  if (first != 0) return first > 0 ? 0 : 1;
  ::setsid();
  const pid_t second = ::fork();
  if (second != 0) return second > 0 ? 0 : 1;
  ::umask(077);
  return Run(take_answer()).supervise();
}

}  // namespace berth::runtime::shim
