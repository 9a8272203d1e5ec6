#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/check.h"

namespace berth::tests {
namespace {

// An anonymous file: unlike a pipe it has no limit that two waiting processes could meet at.
class Scratch {
 public:
  Scratch() : file_(std::tmpfile()) { CHECK(file_ != nullptr, "a temporary file can be made"); }
  ~Scratch() { std::fclose(file_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  int descriptor() const { return fileno(file_); }

  void fill(const std::string& text) {
    CHECK(std::fwrite(text.data(), 1, text.size(), file_) == text.size(), "it can be written");
    std::rewind(file_);
  }

  std::string content() {
    std::rewind(file_);
    std::string text;
    char piece[4096];
    while (const std::size_t count = std::fread(piece, 1, sizeof piece, file_)) {
      text.append(piece, count);
    }
    return text;
  }

 private:
  std::FILE* file_;
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Finished run(const std::string& program, const Invocation& invocation) {
  Scratch in, out, err;
  in.fill(invocation.input);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);

  std::vector<std::string> words{program};
  words.insert(words.end(), invocation.arguments.begin(), invocation.arguments.end());
  std::vector<std::string> environment = invocation.environment;
  pid_t pid = 0;
  const int spawned = posix_spawn(&pid, program.c_str(), &actions, nullptr,
                                  pointers_to(words).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) return {-1, "", "cannot start " + program};

  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid, "our own child can be waited for");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out.content(), err.content()};
}

}  // namespace berth::tests
