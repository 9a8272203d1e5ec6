#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Files and descriptors, for the shim and for who starts it. Plain POSIX: the shim stays small.
// What fails leaves the cause in errno.
namespace berth::runtime::shim {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};
std::optional<Pipe> make_pipe();  // close-on-exec

// Whether what has just failed did so because too much is open already.
bool lacks_descriptors();

// All bytes of a small file; a larger one than `limit` is an error (EFBIG).
std::optional<std::string> read_file(int directory, const char* name, std::size_t limit);

enum class Durable { No, Yes };

// Readers see the old content or the new, never a part; a durable one survives a power cut.
bool write_file(int directory, const char* name, std::string_view content, Durable durable);

bool write_all(int fd, std::string_view bytes);

// Whether somebody holds the lock on this file. No: nobody does, or there is no such file. Who has
// no descriptor left to look cannot know, and is told yes.
bool is_locked(int directory, const char* name);

}  // namespace berth::runtime::shim
