#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shell/log.h"

namespace berth::shell {

// One line of the log with its end, as `log` writes it.
std::string log_line(LogFormat format, std::chrono::system_clock::time_point when, LogLevel level,
                     std::string_view what, LogFields fields);

}  // namespace berth::shell
