#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace berth {

void check_failed(std::string_view file, int line, std::string_view condition,
                  std::string_view why) {
  std::fprintf(stderr, "%.*s:%d: check failed: %.*s: %.*s\n", static_cast<int>(file.size()),
               file.data(), line, static_cast<int>(condition.size()), condition.data(),
               static_cast<int>(why.size()), why.data());
  std::abort();
}

}  // namespace berth
