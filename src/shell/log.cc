#include "shell/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <iterator>

#include "codec/text.h"
#include "shell/log_line.h"

namespace berth::shell {
namespace {

std::atomic<LogFormat> chosen_format{LogFormat::Text};
std::atomic<LogLevel> chosen_least{LogLevel::Info};

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::Debug: return "debug";
    case LogLevel::Info: return "info";
    case LogLevel::Warning: return "warn";
    case LogLevel::Error: return "error";
  }
  return "error";
}

std::string timestamp(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  const auto since = when.time_since_epoch();
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(since).count() % 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     millis);
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7f && c != '"' && c != '=' && c != '\\';
}

void append_value(std::string& line, std::string_view value) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), is_plain)) {
    line += value;
  } else {
    codec::append_json_string(line, value);
  }
}

// A sentence stays one: only what would break the line is replaced.
void append_sentence(std::string& line, std::string_view what) {
  for (const char c : what) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
}

std::string text_line(const std::string& time, LogLevel level, std::string_view what,
                      LogFields fields) {
  std::string line = fmt::format("{} {:<5} ", time, name_of(level));
  append_sentence(line, what);
  for (const auto& [name, value] : fields) {
    fmt::format_to(std::back_inserter(line), " {}=", name);
    append_value(line, value);
  }
  return line + "\n";
}

std::string json_line(const std::string& time, LogLevel level, std::string_view what,
                      LogFields fields) {
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","message":)", time, name_of(level));
  codec::append_json_string(line, what);
  for (const auto& [name, value] : fields) {
    line += ',';
    codec::append_json_string(line, name);
    line += ':';
    codec::append_json_string(line, value);
  }
  return line + "}\n";
}

// One write per line, so that lines of several threads do not mix. A log that nobody can take is
// lost: there is nobody to tell.
void write_out(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void configure_log(LogFormat format, LogLevel least) {
  chosen_format = format;
  chosen_least = least;
}

std::string log_line(LogFormat format, std::chrono::system_clock::time_point when, LogLevel level,
                     std::string_view what, LogFields fields) {
  const std::string time = timestamp(when);
  return format == LogFormat::Text ? text_line(time, level, what, fields)
                                   : json_line(time, level, what, fields);
}

void log(LogLevel level, std::string_view what, LogFields fields) {
  if (level < chosen_least.load(std::memory_order_relaxed)) return;
  write_out(log_line(chosen_format, std::chrono::system_clock::now(), level, what, fields));
}

Result<LogFormat> parse_log_format(std::string_view text) {
  if (text == "text") return LogFormat::Text;
  if (text == "json") return LogFormat::Json;
  return invalid_input(
      fmt::format("log.format: {} is neither text nor json", codec::in_quotes(text)));
}

Result<LogLevel> parse_log_level(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error}) {
    if (text == name_of(level)) return level;
  }
  if (text == "warning") return LogLevel::Warning;
  return invalid_input(
      fmt::format("log.level: {} is none of debug, info, warn and error", codec::in_quotes(text)));
}

}  // namespace berth::shell
