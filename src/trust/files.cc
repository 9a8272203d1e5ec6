#include "trust/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace berth::trust {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileMax = 1 << 20;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Error file_error(const fs::path& path, std::string_view what) {
  const int number = errno;
  const Code code = number == ENOSPC || number == EDQUOT ? Code::Exhausted
                    : number == ENOENT                   ? Code::NotFound
                                                         : Code::Unavailable;
  return {code, fmt::format("{} cannot be {}: {}", path.string(), what, std::strerror(number))};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<void> sync_directory(const fs::path& path) {
  const File directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.fd()) != 0) return file_error(path, "synced");
  return {};
}

Result<std::string> read_file(const fs::path& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return file_error(path, "opened");
  std::string text;
  std::array<char, 4096> piece;
  while (true) {
    const ssize_t size = ::read(file.fd(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return file_error(path, "read");
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > kFileMax) return Error{Code::Damaged, path.string() + " is too long"};
  }
}

Result<void> make_directory(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return file_error(path, "made");
  return {};
}

Result<void> rename_file(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return file_error(to, "replaced");
  return sync_directory(to.parent_path());
}

// A new key waits here until its certificate is there.
fs::path next_key_in(const fs::path& directory) { return directory / "key.pem.new"; }

Result<void> write_if_new(const fs::path& path, const std::string& text) {
  const auto present = read_file(path);
  if (present && *present == text) return {};
  return write_secret(path, text);
}

}  // namespace

CredentialFiles files_in(const fs::path& directory) {
  return {directory / "key.pem", directory / "cert.pem", directory / "ca.pem"};
}

Result<void> write_secret(const fs::path& path, std::string_view text) {
  const fs::path temporary = path.string() + ".tmp";
  ::unlink(temporary.c_str());  // what an earlier attempt left
  {
    const File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return file_error(temporary, "made");
    if (!write_all(file.fd(), text) || ::fsync(file.fd()) != 0) {
      const Error error = file_error(temporary, "written");
      ::unlink(temporary.c_str());
      return error;
    }
  }
  return rename_file(temporary, path);
}

Result<void> save(const fs::path& directory, const Credentials& credentials) {
  TRY(check_pair(credentials.own));
  TRY(make_directory(directory));
  const CredentialFiles files = files_in(directory);
  TRY(write_if_new(files.authority, credentials.authority));
  const auto present_key = read_file(files.key);
  if (present_key && *present_key == credentials.own.key) {
    return write_if_new(files.certificate, credentials.own.certificate);
  }
  TRY(write_secret(next_key_in(directory), credentials.own.key));
  TRY(write_if_new(files.certificate, credentials.own.certificate));
  return rename_file(next_key_in(directory), files.key);
}

Result<Credentials> load(const fs::path& directory) {
  const CredentialFiles files = files_in(directory);
  Credentials credentials;
  credentials.own.certificate = TRY(read_file(files.certificate));
  credentials.authority = TRY(read_file(files.authority));
  if (auto next_key = read_file(next_key_in(directory))) {
    KeyAndCertificate next{std::move(*next_key), credentials.own.certificate};
    if (check_pair(next)) TRY(rename_file(next_key_in(directory), files.key));
  }
  credentials.own.key = TRY(read_file(files.key));
  if (const auto fits = check_pair(credentials.own); !fits) {
    return Error{Code::Damaged, fmt::format("{}: {}; remove the directory and join again",
                                            directory.string(), fits.error().message)};
  }
  return credentials;
}

}  // namespace berth::trust
