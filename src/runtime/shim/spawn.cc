#include "runtime/shim/spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/shim/files.h"

namespace berth::runtime::shim {
namespace {

std::uint64_t open_files_of_children = 0;  // 0: as it is

// What the child was doing when it failed; its index goes through the pipe.
enum class Step : int {
  Descriptors,
  Session,
  Limits,
  Cgroup,
  Network,
  User,
  Directory,
  Parent,
  Program
};

struct Failure {
  Step step;
  int error;
};

const char* name_of(Step step) {
  switch (step) {
    case Step::Descriptors: return "cannot connect its output";
    case Step::Session: return "cannot make a session";
    case Step::Limits: return "cannot set its limits";
    case Step::Cgroup: return "cannot join its control group";
    case Step::Network: return "cannot enter its network";
    case Step::User: return "cannot change to its user";
    case Step::Directory: return "cannot change to its directory";
    case Step::Parent: return "lost its supervisor";
    case Step::Program: return "cannot run";
  }
  return "failed";
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// --- In the child: nothing that allocates or locks -----------------------------------------------

// At most what we may have ourselves: to go beyond that takes a capability that we may lack.
bool set_limit(__rlimit_resource_t which, std::uint64_t value) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return false;
  limit.rlim_max = limit.rlim_max < value ? limit.rlim_max : value;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(which, &limit) == 0;
}

bool set_soft_limit(__rlimit_resource_t which, std::uint64_t value) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max < value ? limit.rlim_max : value;
  return ::setrlimit(which, &limit) == 0;
}

bool set_open_files(const SpawnRequest& request) {
  if (request.open_files > 0) return set_limit(RLIMIT_NOFILE, request.open_files);
  return open_files_of_children == 0 || set_soft_limit(RLIMIT_NOFILE, open_files_of_children);
}

bool set_limits(const SpawnRequest& request) {
  if (!set_limit(RLIMIT_CORE, 0)) return false;
  if (!set_open_files(request)) return false;
  return request.data_bytes == 0 || set_limit(RLIMIT_DATA, request.data_bytes);
}

bool join_cgroup(const std::string& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  return fd >= 0 && ::write(fd, "0", 1) == 1;
}

bool enter_network(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return fd >= 0 && ::setns(fd, CLONE_NEWNET) == 0;
}

bool become(const User& user) {
  const gid_t group = user.gid;
  return ::setgroups(1, &group) == 0 && ::setresgid(group, group, group) == 0 &&
         ::setresuid(user.uid, user.uid, user.uid) == 0;
}

// All three are moved out of the way first: one of them may have the number of another's place.
bool connect(const SpawnRequest& request) {
  int sources[3] = {request.input, request.output, request.error};
  for (int& source : sources) {
    source = source < 0 ? ::open("/dev/null", O_RDWR | O_CLOEXEC) : source;
    source = source < 0 ? -1 : ::fcntl(source, F_DUPFD_CLOEXEC, 3);
    if (source < 0) return false;
  }
  for (int place = 0; place < 3; ++place) {
    if (::dup2(sources[place], place) < 0) return false;
  }
  return true;
}

void reset_signals() {
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Step prepare(const SpawnRequest& request, pid_t parent) {
  if (!connect(request)) return Step::Descriptors;
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  if (::setsid() < 0) return Step::Session;
  if (request.has_terminal && ::ioctl(0, TIOCSCTTY, 0) != 0) return Step::Session;
  if (!set_limits(request)) return Step::Limits;
  for (const std::string& file : request.cgroup_files) {
    if (!join_cgroup(file)) return Step::Cgroup;
  }
  const std::string& network = request.network_namespace;
  if (!network.empty() && !enter_network(network)) return Step::Network;
  // As root, so that its directory may lie where its user cannot pass.
  if (!request.directory.empty() && ::chdir(request.directory.c_str()) != 0) return Step::Directory;
  if (request.user && !become(*request.user)) return Step::User;
  if (request.dies_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) return Step::Parent;
  }
  ::umask(022);
  return Step::Program;
}

[[noreturn]] void run_child(const SpawnRequest& request, pid_t parent, char** argv, char** env,
                            int report) {
  reset_signals();
  Failure failure{.step = prepare(request, parent), .error = 0};
  if (failure.step == Step::Program) {
    environ = env;
    ::execvp(argv[0], argv);
  }
  failure.error = errno;
  static_cast<void>(!::write(report, &failure, sizeof failure));
  ::_exit(127);
}

// --- In the parent -------------------------------------------------------------------------------

std::string explain(const Failure& failure, const SpawnRequest& request) {
  std::string text = name_of(failure.step);
  if (failure.step == Step::Program) text += " " + request.argv.front();
  if (failure.step == Step::Directory) text += " " + request.directory;
  return text + ": " + std::strerror(failure.error);
}

ssize_t read_fully(int fd, void* into, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd, into, size);
    if (got >= 0 || errno != EINTR) return got;
  }
}

}  // namespace

Spawned spawn(const SpawnRequest& request) {
  if (request.argv.empty()) return {.error = "there is no command"};
  auto report = make_pipe();
  if (!report) return {.error = std::string("no pipe: ") + std::strerror(errno)};
  const std::vector<char*> argv = pointers_to(request.argv);
  const std::vector<char*> env = pointers_to(request.env);
  const pid_t parent = ::getpid();
  // No signal handler of ours may run in the child.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) {
    run_child(request, parent, const_cast<char**>(argv.data()), const_cast<char**>(env.data()),
              report->write.get());
  }
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return {.error = std::string("cannot fork: ") + std::strerror(fork_error)};
  report->write.reset();
  Failure failure{};
  if (read_fully(report->read.get(), &failure, sizeof failure) != sizeof failure) {
    return {.pid = pid};
  }
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {.error = explain(failure, request)};
}

void give_children_open_files(std::uint64_t count) { open_files_of_children = count; }

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace berth::runtime::shim
