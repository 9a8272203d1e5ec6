#include "shell/descriptor_limit.h"

#include <sys/resource.h>

namespace berth::shell {

DescriptorLimit raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  return {before, limit.rlim_cur};
}

}  // namespace berth::shell
