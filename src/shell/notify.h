#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

// What systemd wants to know of a service of Type=notify. Without systemd nothing happens.
namespace berth::shell {

void notify_ready();
void notify_stopping();
void notify_alive();  // for the watchdog
void notify_status(std::string_view what);

// How often `notify_alive` is to be called: half of what the watchdog allows; nullopt if there is
// none.
std::optional<Duration> watchdog_interval();

}  // namespace berth::shell
