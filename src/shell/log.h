#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

// Lines for people and journals on standard error: key=value, or JSON. Safe to call from any
// thread.
namespace berth::shell {

enum class LogFormat { Text, Json };
enum class LogLevel { Debug, Info, Warning, Error };

void configure_log(LogFormat format, LogLevel least);

// What the settings log.format and log.level say: "text", "json"; "debug", "info", "warn" (or
// "warning"), "error".
Result<LogFormat> parse_log_format(std::string_view text);
Result<LogLevel> parse_log_level(std::string_view text);

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

void log(LogLevel level, std::string_view what, LogFields fields = {});

}  // namespace berth::shell
