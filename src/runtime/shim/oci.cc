#include "runtime/shim/oci.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "runtime/shim/children.h"
#include "runtime/shim/files.h"
#include "runtime/shim/spawn.h"

namespace berth::runtime::shim {
namespace {

constexpr int kCommandMs = 60'000;

std::vector<std::string> command(const Launch& launch, std::vector<std::string> arguments) {
  std::vector<std::string> argv{launch.oci_runtime, "--root", launch.oci_root};
  for (std::string& argument : arguments) argv.push_back(std::move(argument));
  return argv;
}

// The status of a child that has ended, or was made to.
int wait_for(pid_t pid, int at_most_ms) {
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{handle.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&ended, 1, at_most_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// What makes a container ends with the shim: who takes away what a killed one has left behind must
// not be overtaken by it.
bool makes_something(const std::string& verb) { return verb == "create" || verb == "start"; }

OciOutcome run(const Launch& launch, std::vector<std::string> arguments, int output, int error,
               int at_most_ms = kCommandMs) {
  const std::string verb = arguments.front();
  const Spawned spawned = spawn({.argv = command(launch, std::move(arguments)),
                                 .env = own_environment(),
                                 .output = output,
                                 .error = error,
                                 .dies_with_parent = makes_something(verb)});
  if (!spawned.is_running()) return {.message = spawned.error};
  const int status = wait_for(spawned.pid, at_most_ms);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {.succeeded = true};
  return {.message = launch.oci_runtime + " " + verb +
                     (WIFSIGNALED(status) ? " took too long" : " failed")};
}

OciOutcome run(const Launch& launch, std::vector<std::string> arguments,
               int at_most_ms = kCommandMs) {
  auto error = make_pipe();
  if (!error) return {.message = "no pipe"};
  OciOutcome outcome = run(launch, std::move(arguments), -1, error->write.get(), at_most_ms);
  error->write.reset();
  ::fcntl(error->read.get(), F_SETFL, O_NONBLOCK);
  const std::string said = read_what_is_there(error->read.get());
  if (!outcome.succeeded && !said.empty()) outcome.message = sentence_of(said);
  return outcome;
}

int within_a_minute(std::int64_t ms) {
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, kCommandMs));
}

}  // namespace

// time="..." level=error msg="a \"quoted\" text", or the text alone.
std::string sentence_of(std::string_view output) {
  while (!output.empty() && (output.back() == '\n' || output.back() == ' '))
    output.remove_suffix(1);
  if (const std::size_t line = output.rfind('\n'); line != std::string_view::npos) {
    output.remove_prefix(line + 1);
  }
  constexpr std::string_view kMessage = " msg=\"";
  const std::size_t at = output.find(kMessage);
  if (at == std::string_view::npos) return std::string(output);
  std::string sentence;
  for (std::size_t i = at + kMessage.size(); i < output.size() && output[i] != '"'; ++i) {
    if (output[i] == '\\' && i + 1 < output.size()) ++i;
    sentence += output[i];
  }
  return sentence;
}

OciOutcome oci_create(const Launch& launch, const char* pid_file, int output, int error) {
  return run(launch,
             {"create", "--bundle", launch.bundle, "--pid-file", pid_file, launch.container},
             output, error);
}

OciOutcome oci_start(const Launch& launch) { return run(launch, {"start", launch.container}); }

OciOutcome oci_resume(const Launch& launch, std::int64_t at_most_ms) {
  return run(launch, {"resume", launch.container}, within_a_minute(at_most_ms));
}

OciOutcome oci_delete(const Launch& launch, std::int64_t at_most_ms) {
  return run(launch, {"delete", "--force", launch.container}, within_a_minute(at_most_ms));
}

bool ran_out_of_memory(const Launch& launch) {
  for (const std::string& path : launch.oom_files) {
    const auto text = read_file(AT_FDCWD, path.c_str(), 4096);
    const std::size_t at = text ? text->find("oom_kill ") : std::string::npos;
    if (at != std::string::npos && (*text)[at + 9] != '0') return true;
  }
  return false;
}

}  // namespace berth::runtime::shim
