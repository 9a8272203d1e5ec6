#pragma once

#include <string>

#include "base/time.h"

namespace berth {

// "2026-11-16T09:12:03.125Z" of the time since 1970.
std::string iso_date(Duration since_1970);

}  // namespace berth
