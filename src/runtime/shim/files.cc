#include "runtime/shim/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace berth::runtime::shim {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool lacks_descriptors() { return errno == EMFILE || errno == ENFILE || errno == ENOMEM; }

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::optional<std::string> read_file(int directory, const char* name, std::size_t limit) {
  const Fd file(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return std::nullopt;
  std::string content;
  char part[4096];
  for (;;) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return content;
    content.append(part, static_cast<std::size_t>(got));
    if (content.size() > limit) {
      errno = EFBIG;
      return std::nullopt;
    }
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

bool write_file(int directory, const char* name, std::string_view content, Durable durable) {
  const std::string temporary = std::string(name) + ".new";
  {
    const Fd file(::openat(directory, temporary.c_str(),
                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open() || !write_all(file.get(), content)) return false;
    if (durable == Durable::Yes && ::fsync(file.get()) != 0) return false;
  }
  if (::renameat(directory, temporary.c_str(), directory, name) != 0) return false;
  if (durable == Durable::No) return true;
  const std::string_view path = name;
  const auto slash = path.rfind('/');
  const std::string parent(slash == path.npos ? "." : path.substr(0, slash + 1));
  const Fd holder(::openat(directory, parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return holder.is_open() && ::fsync(holder.get()) == 0;
}

bool is_locked(int directory, const char* name) {
  const Fd file(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return lacks_descriptors();
  return ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace berth::runtime::shim
