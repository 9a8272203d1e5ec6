#include "runtime/files/directory_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/shim/files.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

// Both are far beyond what anybody needs, and keep a hostile tree from exhausting us.
constexpr std::size_t kDepthMax = 64;
constexpr std::size_t kLinkBytesMax = 4096;

constexpr std::string_view kMagic = "berth state 1\n";
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error failed(const std::string& path) {
  return {Code::Unavailable, path + ": " + std::strerror(errno)};
}

// What is at one place of the tree.
struct Entry {
  int directory;  // that holds it
  const std::string& name;
  const std::string& path;  // below the top
  const struct stat& status;
};

enum class Walk { On, Stop };
using Visit = std::function<Walk(const Entry&)>;

std::vector<std::string> sorted_names(int directory) {
  std::vector<std::string> names;
  const int copy = ::openat(directory, ".", kOpenDirectory);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  if (!listing) return names;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// In an order that depends on names only; a directory comes before what is in it. What vanishes on
// the way is passed over: its owner is at work.
Walk walk(int directory, const std::string& above, std::size_t depth, const Visit& visit) {
  for (const std::string& name : sorted_names(directory)) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::string path = above.empty() ? name : above + "/" + name;
    if (visit({directory, name, path, status}) == Walk::Stop) return Walk::Stop;
    if (!S_ISDIR(status.st_mode) || depth == kDepthMax) continue;
    const shim::Fd inner(::openat(directory, name.c_str(), kOpenDirectory));
    if (inner.is_open() && walk(inner.get(), path, depth + 1, visit) == Walk::Stop) {
      return Walk::Stop;
    }
  }
  return Walk::On;
}

// FNV-1a.
void mix(std::uint64_t& hash, std::string_view bytes) {
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
}

template <class Number>
void mix(std::uint64_t& hash, Number number) {
  std::array<char, sizeof number> bytes{};
  std::memcpy(bytes.data(), &number, sizeof number);
  mix(hash, std::string_view(bytes.data(), bytes.size()));
}

// --- Removing ------------------------------------------------------------------------------------

Result<void> remove_entry(int directory, const std::string& name, const std::string& path,
                          const std::stop_token& leaving) {
  if (leaving.stop_requested()) return Error{Code::Unavailable, "it was interrupted"};
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR) return failed(path);
  const shim::Fd inner(::openat(directory, name.c_str(), kOpenDirectory));
  if (!inner.is_open()) return failed(path);
  Result<void> outcome;
  for (const std::string& below : sorted_names(inner.get())) {
    auto removed = remove_entry(inner.get(), below, path + "/" + below, leaving);
    if (!removed && outcome) outcome = std::move(removed);
  }
  if (!outcome) return outcome;
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return failed(path);
}

// --- Packing -------------------------------------------------------------------------------------

std::optional<std::string> read_all(int directory, const std::string& name, std::size_t limit) {
  const shim::Fd file(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return std::string();  // gone
  std::string content;
  std::array<char, 64 << 10> buffer{};
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > limit) return std::nullopt;
  }
}

std::string read_link(const Entry& entry) {
  std::string target(kLinkBytesMax, '\0');
  const ssize_t length =
      ::readlinkat(entry.directory, entry.name.c_str(), target.data(), target.size());
  target.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return target;
}

void add(std::string& packed, char kind, mode_t mode, const std::string& path,
         std::string_view content) {
  packed += fmt::format("{} {:o} {} {}\n", kind, mode & 0777U, path.size(), content.size());
  packed += path;
  packed += content;
}

// --- Unpacking -----------------------------------------------------------------------------------

struct Packed {
  char kind = 0;
  mode_t mode = 0;
  std::string path;
  std::string_view content;
};

Error damaged() { return {Code::Damaged, "the state is damaged"}; }

std::optional<std::size_t> take_number(std::string_view& text, char end, int base) {
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const std::size_t length = static_cast<std::size_t>(rest - text.data());
  if (error != std::errc{} || length >= text.size() || text[length] != end) return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

std::optional<std::string_view> take_bytes(std::string_view& text, std::size_t count) {
  if (count > text.size()) return std::nullopt;
  const std::string_view bytes = text.substr(0, count);
  text.remove_prefix(count);
  return bytes;
}

Result<Packed> take_entry(std::string_view& text) {
  if (text.size() < 2 || text[1] != ' ') return damaged();
  Packed entry{.kind = text[0]};
  text.remove_prefix(2);
  const auto mode = take_number(text, ' ', 8);
  const auto path_size = take_number(text, ' ', 10);
  const auto content_size = take_number(text, '\n', 10);
  if (!mode || *mode > 0777 || !path_size || !content_size) return damaged();
  const auto path = take_bytes(text, *path_size);
  const auto content = take_bytes(text, *content_size);
  if (!path || !content) return damaged();
  entry.mode = static_cast<mode_t>(*mode);
  entry.path = *path;
  entry.content = *content;
  return entry;
}

// "a/b/c" as its parts; nothing if one of them could lead elsewhere.
std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  if (path.find('\0') != std::string_view::npos) return {};
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || parts.size() > kDepthMax) return {};
    parts.emplace_back(part);
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

// The directory that holds the last part. Each part is opened as what it is: a link is an error.
Result<shim::Fd> open_parent(int top, const std::vector<std::string>& parts) {
  shim::Fd directory(::openat(top, ".", kOpenDirectory));
  for (std::size_t i = 0; directory.is_open() && i + 1 < parts.size(); ++i) {
    directory = shim::Fd(::openat(directory.get(), parts[i].c_str(), kOpenDirectory));
  }
  if (!directory.is_open()) return damaged();
  return directory;
}

bool make_file(int parent, const std::string& name, const Packed& entry) {
  const shim::Fd file(
      ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.is_open() && shim::write_all(file.get(), entry.content) &&
         ::fchmod(file.get(), entry.mode) == 0 && ::fsync(file.get()) == 0;
}

bool make(int parent, const std::string& name, const Packed& entry) {
  if (entry.kind == 'f') return make_file(parent, name, entry);
  if (entry.kind == 'l') {
    return ::symlinkat(std::string(entry.content).c_str(), parent, name.c_str()) == 0;
  }
  // Passable for us while it is filled; a mode of its own comes last.
  return ::mkdirat(parent, name.c_str(), 0700) == 0;
}

Result<void> unpack_entry(int top, const Packed& entry, const std::optional<shim::User>& owner) {
  const std::vector<std::string> parts = parts_of(entry.path);
  const bool is_known = entry.kind == 'f' || entry.kind == 'd' || entry.kind == 'l';
  if (parts.empty() || !is_known) return damaged();
  const shim::Fd parent = TRY(open_parent(top, parts));
  const std::string& name = parts.back();
  if (!make(parent.get(), name, entry)) return failed(entry.path);
  if (!owner) return {};
  if (::fchownat(parent.get(), name.c_str(), owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return failed(entry.path);
  }
  return {};
}

Result<void> set_mode(int top, const Packed& entry) {
  const std::vector<std::string> parts = parts_of(entry.path);
  const shim::Fd parent = TRY(open_parent(top, parts));
  const shim::Fd directory(::openat(parent.get(), parts.back().c_str(), kOpenDirectory));
  if (!directory.is_open() || ::fchmod(directory.get(), entry.mode) != 0) return failed(entry.path);
  return {};
}

}  // namespace

TreeFigures look_at_tree(const fs::path& directory, const TreeLimits& limits) {
  TreeFigures figures;
  figures.fingerprint = 0xcbf29ce484222325;
  const shim::Fd top(::open(directory.c_str(), kOpenDirectory));
  if (!top.is_open()) return figures;
  walk(top.get(), "", 0, [&](const Entry& entry) {
    if (figures.entries == limits.entries) {
      figures.complete = false;
      return Walk::Stop;
    }
    ++figures.entries;
    const struct stat& status = entry.status;
    if (S_ISREG(status.st_mode)) figures.size += Bytes(status.st_size);
    mix(figures.fingerprint, entry.path);
    mix(figures.fingerprint, status.st_mode);
    mix(figures.fingerprint, status.st_ino);
    // A directory's own size and time say nothing that its entries do not say.
    if (S_ISDIR(status.st_mode)) return Walk::On;
    mix(figures.fingerprint, status.st_size);
    mix(figures.fingerprint, status.st_mtim.tv_sec);
    mix(figures.fingerprint, status.st_mtim.tv_nsec);
    return Walk::On;
  });
  return figures;
}

Result<std::optional<std::string>> pack_tree(const fs::path& directory, const TreeLimits& limits) {
  std::string packed(kMagic);
  const shim::Fd top(::open(directory.c_str(), kOpenDirectory));
  if (!top.is_open()) {
    if (errno == ENOENT) return std::optional(std::move(packed));
    return failed(directory.string());
  }
  std::size_t entries = 0;
  const Walk end = walk(top.get(), "", 0, [&](const Entry& entry) {
    if (++entries > limits.entries) return Walk::Stop;
    const mode_t mode = entry.status.st_mode;
    if (S_ISDIR(mode)) add(packed, 'd', mode, entry.path, "");
    if (S_ISLNK(mode)) add(packed, 'l', 0777, entry.path, read_link(entry));
    if (S_ISREG(mode)) {
      const auto content = read_all(entry.directory, entry.name, limits.bytes);
      if (!content) return Walk::Stop;
      add(packed, 'f', mode, entry.path, *content);
    }
    return packed.size() > limits.bytes ? Walk::Stop : Walk::On;
  });
  if (end == Walk::Stop) return std::optional<std::string>();
  return std::optional(std::move(packed));
}

Result<void> unpack_tree(std::string_view packed, const fs::path& directory,
                         const std::optional<shim::User>& owner) {
  if (!packed.starts_with(kMagic)) return damaged();
  packed.remove_prefix(kMagic.size());
  const shim::Fd top(::open(directory.c_str(), kOpenDirectory));
  if (!top.is_open()) return failed(directory.string());
  std::vector<Packed> directories;
  while (!packed.empty()) {
    Packed entry = TRY(take_entry(packed));
    TRY(unpack_entry(top.get(), entry, owner));
    if (entry.kind == 'd') directories.push_back(std::move(entry));
  }
  for (const Packed& entry : directories) TRY(set_mode(top.get(), entry));
  ::fsync(top.get());
  return {};
}

Result<void> remove_tree(const fs::path& path, const std::stop_token& leaving) {
  return remove_entry(AT_FDCWD, path.string(), path.string(), leaving);
}

}  // namespace berth::runtime
