#include "agentd/machine.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "runtime/supervision/network_counters.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;

// Files of /proc have no size to ask for; these are small.
std::string read_proc(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Takes the next number of a line.
std::optional<std::int64_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return value;
}

std::optional<Bytes> kibibytes_of(std::string_view text, std::string_view label) {
  const auto at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + label.size());
  const auto value = take_number(text);
  return value ? std::optional(Bytes(*value * 1024)) : std::nullopt;
}

void add_network(runtime::Consumption& consumption) {
  const runtime::NetworkCounters network = runtime::count_machine_network();
  consumption.received = network.received;
  consumption.sent = network.sent;
}

}  // namespace

std::optional<Memory> parse_meminfo(std::string_view text) {
  const auto total = kibibytes_of(text, "MemTotal:");
  const auto available = kibibytes_of(text, "MemAvailable:");
  if (!total || !available) return std::nullopt;
  return Memory{*total, *available};
}

std::optional<microseconds> parse_stat(std::string_view text, std::int64_t ticks_per_second) {
  if (!text.starts_with("cpu ")) return std::nullopt;
  text = text.substr(4, text.find('\n') - 4);
  // user nice system idle iowait irq softirq steal; guests are part of user
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kIoWait = 4;
  std::int64_t busy = 0;
  for (std::size_t column = 0; column < 8; ++column) {
    const auto ticks = take_number(text);
    if (!ticks) return std::nullopt;
    if (column != kIdle && column != kIoWait) busy += *ticks;
  }
  return microseconds(busy * (1'000'000 / ticks_per_second));
}

std::int64_t processor_count() {
  return std::max<std::int64_t>(1, std::thread::hardware_concurrency());
}

Result<Memory> read_memory() {
  if (const auto memory = parse_meminfo(read_proc("/proc/meminfo"))) return *memory;
  return Error{Code::Internal, "/proc/meminfo does not tell how much memory there is"};
}

runtime::Consumption consumption_of_machine() {
  runtime::Consumption consumption;
  const auto busy = parse_stat(read_proc("/proc/stat"), sysconf(_SC_CLK_TCK));
  if (busy) consumption.cpu_time = *busy;
  if (const auto memory = read_memory()) consumption.ram = memory->total - memory->available;
  add_network(consumption);
  return consumption;
}

runtime::Consumption consumption_of_this_process() {
  runtime::Consumption consumption;
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    consumption.cpu_time = std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                           microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  }
  const std::string statm = read_proc("/proc/self/statm");
  std::string_view rest = statm;
  take_number(rest);  // virtual size
  if (const auto pages = take_number(rest)) {
    consumption.ram = Bytes(*pages * sysconf(_SC_PAGESIZE));
  }
  add_network(consumption);
  return consumption;
}

Result<FileSystem> file_system_of(const fs::path& directory) {
  struct stat file {};
  struct statvfs told {};
  const bool is_there = stat(directory.c_str(), &file) == 0;
  if (!is_there && errno == ENOENT && directory.has_parent_path() &&
      directory.parent_path() != directory) {
    return file_system_of(directory.parent_path());
  }
  if (!is_there || statvfs(directory.c_str(), &told) != 0) {
    return Error{Code::Unavailable, directory.string() + ": " + std::strerror(errno)};
  }
  const auto bytes = [&](std::uint64_t blocks) {
    return Bytes(static_cast<std::int64_t>(blocks * told.f_frsize));
  };
  return FileSystem{.device = file.st_dev,
                    .size = bytes(told.f_blocks),
                    .used = bytes(told.f_blocks - told.f_bfree)};
}

Result<void> make_state_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Error{Code::Unavailable, path.string() + ": " + error.message()};
  const auto wanted = fs::perms(0711);
  if (fs::status(path, error).permissions() == wanted)
    return {};  // also where nothing can be written
  if (chmod(path.c_str(), 0711) != 0) {
    return Error{Code::Unavailable, path.string() + ": " + std::strerror(errno)};
  }
  return {};
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

bool is_installed(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/sbin:/usr/bin:/sbin:/bin";
  while (true) {
    const auto colon = rest.find(':');
    const fs::path candidate = fs::path(rest.substr(0, colon)) / program;
    if (access(candidate.c_str(), X_OK) == 0) return true;
    if (colon == std::string_view::npos) return false;
    rest.remove_prefix(colon + 1);
  }
}

std::string make_boot_id() {
  std::array<unsigned char, 16> bytes{};
  const ssize_t drawn = getrandom(bytes.data(), bytes.size(), 0);
  CHECK(drawn == static_cast<ssize_t>(bytes.size()), "the kernel has no randomness");
  std::string id;
  for (const unsigned char byte : bytes) {
    id += "0123456789abcdef"[byte >> 4];
    id += "0123456789abcdef"[byte & 15];
  }
  return id;
}

fs::path own_directory() {
  std::error_code unused;
  return fs::read_symlink("/proc/self/exe", unused).parent_path();
}

}  // namespace berth::agentd
