#include "runtime/shim/launch.h"

#include <charconv>

namespace berth::runtime::shim {
namespace {

constexpr std::string_view kComplete = "complete=1";

void put(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.append(name).append("=").append(value).push_back('\0');
}

void put(std::string& out, std::string_view name, std::uint64_t value) {
  put(out, name, std::string_view(std::to_string(value)));
}

void put(std::string& out, std::string_view name, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    out.append(name).append("=").append(value).push_back('\0');
  }
}

template <class Number>
bool take_number(std::string_view text, Number& into) {
  const auto number = parse_number(text);
  if (!number || *number > static_cast<std::uint64_t>(static_cast<Number>(-1))) return false;
  into = static_cast<Number>(*number);
  return true;
}

User& user_of(Launch& launch) { return launch.user ? *launch.user : launch.user.emplace(); }

bool take_text(Launch& launch, std::string_view name, std::string_view value) {
  const std::string text(value);
  if (name == "arg") return launch.argv.push_back(text), true;
  if (name == "env") return launch.env.push_back(text), true;
  if (name == "oom") return launch.oom_files.push_back(text), true;
  if (name == "cgroup") return launch.cgroup_files.push_back(text), true;
  if (name == "network") return launch.network_namespace = text, true;
  if (name == "machine") return launch.is_machine = true, true;
  if (name == "endsUnrecorded") return launch.ends_unrecorded = true, true;
  if (name == "directory") return launch.directory = text, true;
  if (name == "ociRuntime") return launch.oci_runtime = text, true;
  if (name == "ociRoot") return launch.oci_root = text, true;
  if (name == "container") return launch.container = text, true;
  if (name == "bundle") return launch.bundle = text, true;
  if (name == "logs") return launch.log_directory = text, true;
  return false;
}

bool take(Launch& launch, std::string_view name, std::string_view value) {
  if (name == "uid") return take_number(value, user_of(launch).uid);
  if (name == "gid") return take_number(value, user_of(launch).gid);
  if (name == "openFiles") return take_number(value, launch.open_files);
  if (name == "dataBytes") return take_number(value, launch.data_bytes);
  if (name == "logBytes") return take_number(value, launch.log_bytes);
  if (name == "logFiles") return take_number(value, launch.log_files);
  return take_text(launch, name, value);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string encode(const Launch& launch) {
  std::string out;
  put(out, "arg", launch.argv);
  put(out, "env", launch.env);
  put(out, "oom", launch.oom_files);
  put(out, "cgroup", launch.cgroup_files);
  put(out, "network", launch.network_namespace);
  if (launch.is_machine) put(out, "machine", 1);
  if (launch.ends_unrecorded) put(out, "endsUnrecorded", 1);
  put(out, "directory", launch.directory);
  if (launch.user) {
    put(out, "uid", launch.user->uid);
    put(out, "gid", launch.user->gid);
  }
  put(out, "openFiles", launch.open_files);
  put(out, "dataBytes", launch.data_bytes);
  put(out, "ociRuntime", launch.oci_runtime);
  put(out, "ociRoot", launch.oci_root);
  put(out, "container", launch.container);
  put(out, "bundle", launch.bundle);
  put(out, "logs", launch.log_directory);
  put(out, "logBytes", launch.log_bytes);
  put(out, "logFiles", launch.log_files);
  return out.append(kComplete).append(1, '\0');
}

std::optional<Launch> decode_launch(std::string_view bytes) {
  Launch launch;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view entry = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (entry == kComplete) return bytes.empty() ? std::optional(launch) : std::nullopt;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (!take(launch, entry.substr(0, equals), entry.substr(equals + 1))) return std::nullopt;
  }
  return std::nullopt;
}

std::string encode(const Ending& ending) {
  return std::to_string(ending.code) + "\n" + ending.reason + "\n" + ending.message;
}

std::optional<Ending> decode_ending(std::string_view bytes) {
  const std::string_view code = take_line(bytes);
  Ending ending;
  const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), ending.code);
  if (code.empty() || error != std::errc{} || end != code.data() + code.size()) return std::nullopt;
  ending.reason = take_line(bytes);
  ending.message = bytes;
  return ending;
}

}  // namespace berth::runtime::shim
