#include "shell/descriptor_limit.h"

#include <sys/resource.h>

namespace berth::shell {

Limits raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const Limits original{limit.rlim_cur, limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
  return original;
}

}  // namespace berth::shell
