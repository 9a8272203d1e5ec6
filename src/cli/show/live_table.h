#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/v1/api.pb.h"
#include "cli/show/console.h"
#include "cli/show/terminal.h"

namespace berth::cli {

// One frame of the table that `apply` shows while it waits: what is on its way has a spinner. If
// there are more rows than fit, only those that are not active are shown, then how many are not
// shown at all; the last line is a summary. A pure function: the same arguments give the same text.
struct LiveView {
  const std::vector<v1::Instance>& rows;
  TerminalSize size;
  std::uint64_t tick = 0;
  Style style;
};

std::string live_table(const LiveView& view);

}  // namespace berth::cli
