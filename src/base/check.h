#pragma once

#include <string_view>

// CHECK guards what cannot happen: a bug, never an outside failure. It is on in release builds,
// because a wrong decision carried out is worse than a daemon that restarts.
namespace berth {

[[noreturn]] void check_failed(std::string_view file, int line, std::string_view condition,
                               std::string_view why);

}  // namespace berth

#define CHECK(condition, why)                                                     \
  do {                                                                            \
    if (!(condition)) ::berth::check_failed(__FILE__, __LINE__, #condition, why); \
  } while (false)
