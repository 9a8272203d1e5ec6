#include "store/sqlite/store_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace berth::store {
namespace {

namespace fs = std::filesystem;

Error file_error(const fs::path& path, std::string_view what) {
  const int number = errno;
  return {is_full(number) ? Code::Exhausted : Code::Unavailable,
          fmt::format("{} cannot be {}: {}", path.string(), what, std::strerror(number))};
}

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

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

Result<void> sync_directory(const fs::path& path) {
  const fs::path directory = directory_of(path);
  const File file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file || ::fsync(file.fd()) != 0) return file_error(directory, "synced");
  return {};
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::uintmax_t size_of(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

// The numbers of all "STORE.WORD-N", the greatest first.
std::vector<std::uint64_t> numbers_beside(const fs::path& store, std::string_view word) {
  const std::string begin = fmt::format("{}.{}-", store.filename().string(), word);
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_of(store), error)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t number = 0;
    const char* end = name.data() + name.size();
    if (!name.starts_with(begin)) continue;
    const auto [stopped, failed] = std::from_chars(name.data() + begin.size(), end, number);
    if (failed == std::errc() && stopped == end) numbers.push_back(number);
  }
  std::ranges::sort(numbers, std::greater());
  return numbers;
}

fs::path beside(const fs::path& store, std::string_view word, std::uint64_t number) {
  return fmt::format("{}.{}-{}", store.string(), word, number);
}

// SQLite's locks are on bytes at this place, in files of any size.
constexpr off_t kLockedFrom = 0x40000000;
constexpr off_t kLockedBytes = 512;

constexpr std::string_view kWaysOut = "To see what is wrong: ";

}  // namespace

bool is_full(int system_error) {
  return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
}

fs::path log_of(const fs::path& store) { return store.string() + "-wal"; }

Result<void> make_private_file(const fs::path& path) {
  {
    const File made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (made) return sync_directory(path);
  }
  if (errno != EEXIST) return file_error(path, "made");
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && (found.st_mode & 0777) == 0600) return {};
  if (::chmod(path.c_str(), 0600) != 0) return file_error(path, "made private");
  return {};
}

bool takes_files(const fs::path& store) {
  const std::string probe = store.string() + ".probe";
  const File made(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ::unlink(probe.c_str());
  return static_cast<bool>(made);
}

bool is_nothing(const fs::path& store) { return size_of(store) == 0; }

std::vector<fs::path> good_states_of(const fs::path& store) {
  std::vector<fs::path> paths;
  for (const std::uint64_t number : numbers_beside(store, "good")) {
    paths.push_back(beside(store, "good", number));
  }
  return paths;
}

fs::path next_good_state_of(const fs::path& store) {
  const auto numbers = numbers_beside(store, "good");
  return beside(store, "good", numbers.empty() ? 1 : numbers.front() + 1);
}

bool has_damaged_beside(const fs::path& store) { return !numbers_beside(store, "damaged").empty(); }

Result<fs::path> set_aside(const fs::path& store, std::string_view word) {
  std::error_code error;
  if (!fs::exists(store, error) && !fs::exists(log_of(store), error)) return fs::path();
  const auto numbers = numbers_beside(store, word);
  const std::uint64_t free = numbers.empty() ? 1 : numbers.front() + 1;
  const fs::path aside = beside(store, word, std::min<std::uint64_t>(free, kSetAsideMax));
  fs::remove(log_of(aside), error);
  // The log first: a file without it is found to be behind, a log without its file to be alone.
  for (const auto& [from, to] :
       {std::pair(log_of(store), log_of(aside)), std::pair(store, aside)}) {
    if (fs::exists(from, error)) TRY(rename_durably(from, to));
  }
  return aside;
}

Result<void> write_whole(const fs::path& path, std::string_view bytes) {
  const fs::path temporary = path.string() + ".tmp";
  ::unlink(temporary.c_str());  // what an earlier attempt left
  {
    const File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return file_error(temporary, "made");
    if (!write_all(file.fd(), bytes) || ::fsync(file.fd()) != 0) {
      const Error error = file_error(temporary, "written");
      ::unlink(temporary.c_str());
      return error;
    }
  }
  return rename_durably(temporary, path);
}

void give_to_owner_of_directory(const fs::path& path) {
  struct stat directory {};
  if (::geteuid() != 0 || ::stat(directory_of(path).c_str(), &directory) != 0) return;
  if (::chown(path.c_str(), directory.st_uid, directory.st_gid) != 0) return;  // root's, then
}

Result<void> rename_durably(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return file_error(to, "replaced");
  return sync_directory(to);
}

Result<std::string> read_whole(const fs::path& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return file_error(path, "opened");
  std::string bytes;
  std::array<char, 65536> piece;
  while (true) {
    const ssize_t size = ::read(file.fd(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return file_error(path, "read");
    if (size == 0) return bytes;
    bytes.append(piece.data(), static_cast<std::size_t>(size));
  }
}

bool is_in_use(const fs::path& store) {
  const File file(::open(store.c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kLockedFrom;
  lock.l_len = kLockedBytes;
  return file && ::fcntl(file.fd(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::string ways_out(const fs::path& store) {
  const std::string directory = directory_of(store).string();
  return fmt::format(
      "{1}berth store check --directory {0}; to mend it: berth store repair --directory {0}, or "
      "berth store restore FILE --directory {0} with a backup",
      directory, kWaysOut);
}

std::string without_ways_out(const std::string& message) {
  const std::size_t begin = message.find(kWaysOut);
  return begin == message.npos ? message
                               : message.substr(0, message.find_last_not_of(". ", begin - 1) + 1);
}

std::string printable(std::string_view key) {
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace berth::store
