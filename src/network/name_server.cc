#include "network/name_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "network/names.h"
#include "runtime/shim/launch.h"
#include "runtime/supervision/command.h"

namespace berth::network {
namespace {

using runtime::shim::Fd;

constexpr Duration kServerPatience = 30s;
constexpr std::size_t kNamesBytesMax = 64 << 20;

// A name is what the control plane has made of it; a line stays a line anyway.
bool is_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

bool has_ended(int handle) {
  pollfd source{handle, POLLIN, 0};
  return ::poll(&source, 1, 0) > 0;
}

}  // namespace

std::string hosts_text(const std::vector<model::NamedAddress>& names) {
  std::string text;
  for (const model::NamedAddress& one : names) {
    std::string line;
    for (const std::string& name : one.names) {
      if (is_name(name)) line += " " + name;
    }
    if (!line.empty()) text += to_string(one.address) + line + "\n";
  }
  return text;
}

// It listens wherever the router has an address, now or later: the firewall says who may ask. It
// logs where daemons do: a log file of its own it would give to its user, be it /dev/null.
std::vector<std::string> NameServer::command() const {
  std::vector<std::string> argv{runtime::find_program("dnsmasq"),
                                "--conf-file=/dev/null",
                                "--no-resolv",
                                "--no-hosts",
                                "--no-poll",
                                "--user=nobody",
                                "--cache-size=1000",
                                "--domain-needed",
                                "--bogus-priv",
                                fmt::format("--except-interface={}", kUplinkDevice),
                                "--addn-hosts=" + names_file().string(),
                                "--pid-file=" + pid_file().string()};
  for (const model::Ipv4 server : config_.upstream) argv.push_back("--server=" + to_string(server));
  if (config_.upstream.empty()) argv.emplace_back("--local=/#/");  // "no such name", at once
  return argv;
}

bool NameServer::is_ours(std::string line) const {
  static const std::string kOfAnEarlierRelease = std::string("--log-facility=/dev/null") + '\0';
  const std::size_t former = line.find(kOfAnEarlierRelease);
  if (former != line.npos) line.erase(former, kOfAnEarlierRelease.size());
  std::string wanted;
  for (const std::string& word : command()) wanted += word + '\0';
  return line == wanted;
}

// A number can be another process's by now; its command line says whose it is.
std::optional<pid_t> NameServer::find() const {
  const auto text = runtime::shim::read_file(AT_FDCWD, pid_file().c_str(), 64);
  const auto number =
      text ? runtime::shim::parse_number(text->substr(0, text->find('\n'))) : std::nullopt;
  if (!number || *number == 0) return std::nullopt;
  const std::string path = fmt::format("/proc/{}/cmdline", *number);
  const auto line = runtime::shim::read_file(AT_FDCWD, path.c_str(), 64 << 10);
  if (!line || !is_ours(*line)) return std::nullopt;
  return static_cast<pid_t>(*number);
}

Result<void> NameServer::ensure(const NetworkNamespace& where) {
  if (is_running()) return {};
  handle_.reset();
  has_read_names_ = false;
  auto found = find();
  if (!found) {
    if (::access(names_file().c_str(), F_OK) != 0) TRY(set_names({}));
    const auto done =
        TRY(where.run([&] { return runtime::run_command(command(), kServerPatience); }));
    if (done.code != 0) {
      return Error{Code::Unavailable, "dnsmasq: " + done.output.substr(0, done.output.find('\n'))};
    }
    found = find();
    has_read_names_ = true;
  }
  pid_ = found.value_or(-1);
  handle_ = Fd(found ? static_cast<int>(::syscall(SYS_pidfd_open, *found, 0)) : -1);
  if (!handle_.is_open()) return Error{Code::Unavailable, "dnsmasq ended right after its start"};
  return {};
}

Result<void> NameServer::set_names(const std::vector<model::NamedAddress>& names) {
  const std::string text = hosts_text(names);
  const std::string path = names_file().string();
  if (runtime::shim::read_file(AT_FDCWD, path.c_str(), kNamesBytesMax) != text) {
    has_read_names_ = false;
    const bool written =
        runtime::shim::write_file(AT_FDCWD, path.c_str(), text, runtime::shim::Durable::No) &&
        ::chmod(path.c_str(), 0644) == 0;
    if (!written) {
      return Error{Code::Unavailable,
                   fmt::format("cannot write {}: {}", path, std::strerror(errno))};
    }
  }
  // One of an earlier life is told, too: that life may have ended between writing and telling.
  if (!has_read_names_ && is_running()) has_read_names_ = ::kill(pid_, SIGHUP) == 0;
  return {};
}

bool NameServer::is_running() const { return handle_.is_open() && !has_ended(handle_.get()); }

void NameServer::stop() {
  const auto found = find();
  if (!found) return;
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, *found, 0)));
  ::kill(*found, SIGTERM);
  pollfd source{handle.get(), POLLIN, 0};
  ::poll(&source, 1, 5000);
}

}  // namespace berth::network
