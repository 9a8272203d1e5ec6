#include "client/login.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace berth::client {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kFileMax = 1 << 20;

bool is_port(std::string_view text) {
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return !text.empty() && text.size() <= 5 && digits;
}

Error no_server(std::string_view text) {
  return invalid_input(fmt::format("\"{}\" is no server: https://HOST:PORT is wanted", text));
}

Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return not_found(fmt::format("{}: {}", path.string(), error.message()));
  if (size > kFileMax) return invalid_input(path.string() + ": is too large for what it should be");
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) return Error{Code::Internal, path.string() + ": cannot be read"};
  return text;
}

Error cannot_write(const fs::path& path) {
  return {Code::Internal, fmt::format("cannot write {}: {}", path.string(), std::strerror(errno))};
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Whole or not at all: a new file takes the old one's place.
Result<void> write_file(const fs::path& path, const std::string& text) {
  const std::string draft = path.string() + ".new";
  ::unlink(draft.c_str());
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return cannot_write(draft);
  const bool written = write_all(file, text) && ::fsync(file) == 0;
  if (::close(file) != 0 || !written) return cannot_write(draft);
  if (::rename(draft.c_str(), path.c_str()) != 0) return cannot_write(path);
  return {};
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<HostPort> parse_server(std::string_view text) {
  std::string_view rest = text;
  constexpr std::string_view kScheme = "https://";
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || !is_port(rest.substr(colon + 1))) return no_server(text);
  std::string_view host = rest.substr(0, colon);
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const std::string_view forbidden = in_brackets ? "/@[] " : "/@[]: ";
  if (host.empty() || host.find_first_of(forbidden) != std::string_view::npos) {
    return no_server(text);
  }
  return HostPort{std::string(host), std::string(rest.substr(colon + 1))};
}

std::string to_string(const HostPort& at) {
  const bool is_v6 = at.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", at.host, at.port) : at.host + ":" + at.port;
}

Result<std::optional<Login>> load_login(const fs::path& directory) {
  std::error_code error;
  if (directory.empty() || !fs::exists(directory / "key.pem", error)) return std::nullopt;
  Login login;
  login.key = TRY(read_file(directory / "key.pem"));
  login.certificate = TRY(read_file(directory / "cert.pem"));
  login.authority = TRY(read_file(directory / "ca.pem"));
  login.server = first_line(TRY(read_file(directory / "server")));
  return login;
}

Result<void> save_login(const fs::path& directory, const Login& login) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Error{Code::Internal,
                 fmt::format("cannot make {}: {}", directory.string(), error.message())};
  }
  if (::chmod(directory.c_str(), 0700) != 0) return cannot_write(directory);
  TRY(write_file(directory / "key.pem", login.key));
  TRY(write_file(directory / "cert.pem", login.certificate));
  TRY(write_file(directory / "ca.pem", login.authority));
  return write_file(directory / "server", login.server + "\n");
}

}  // namespace berth::client
