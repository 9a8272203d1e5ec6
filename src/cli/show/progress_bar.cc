#include "cli/show/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/show/figures.h"
#include "cli/show/table.h"
#include "cli/show/wrap.h"

namespace berth::cli {
namespace {

constexpr std::size_t kBarMin = 4;
constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);

}  // namespace

std::string progress_line(std::uint64_t done, std::uint64_t all, std::string_view what,
                          const Style& style) {
  const std::uint64_t share = all == 0 ? 100 : done * 100 / all;
  const std::string text = fmt::format("{:3} %  {} of {} {}", share, done, all, what);
  // The last column stays free: some terminals begin a new line there.
  const std::size_t room = std::max<std::size_t>(style.columns, 2) - 1;
  if (room < text.size() + kBarMin + 3) return shortened(text, room, style.unicode);
  const std::size_t cells = std::min<std::size_t>(room - text.size() - 3, 40);
  return fmt::format("[{}] {}",
                     bar_of(cells * std::min<std::uint64_t>(share, 100) / 100, cells, style), text);
}

ProgressBar::ProgressBar(std::ostream& out, const Style& style, std::uint64_t all, std::string what)
    : out_(out), style_(style), all_(all), what_(std::move(what)) {}

void ProgressBar::advance(std::uint64_t by) {
  done_ += by;
  if (style_.columns == 0 || Clock::now() - drawn_at_ < kBetweenDrawings) return;
  drawn_at_ = Clock::now();
  const std::string line = progress_line(done_, all_, what_, style_);
  const std::size_t width = width_of(line);
  // What was longer before is overwritten.
  const std::string rest(drawn_ > width ? drawn_ - width : 0, ' ');
  out_ << '\r' << line << rest << std::flush;
  drawn_ = std::max(drawn_, width);
}

ProgressBar::~ProgressBar() {
  if (drawn_ > 0) out_ << '\r' << std::string(drawn_, ' ') << '\r' << std::flush;
}

}  // namespace berth::cli
