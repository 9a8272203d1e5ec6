#include "agent/standstill.h"

#include <algorithm>
#include <utility>

namespace berth::agent {
namespace {

using model::Pausing;

constexpr Duration kFirstRetry = 1s;
constexpr Duration kLongestRetry = 60s;

Duration retry_after(std::uint32_t failures) {
  Duration wait = kFirstRetry;
  for (std::uint32_t n = 1; n < failures && wait < kLongestRetry; ++n) wait *= 2;
  return std::min(wait, kLongestRetry);
}

}  // namespace

bool Standstill::is_as(Pausing wanted) const {
  return is_ == (wanted == Pausing::Paused ? Is::Paused : Is::Running);
}

std::optional<std::uint32_t> Standstill::ask(Time now, Pausing wanted, Duration patience) {
  if (std::exchange(wanted_, wanted) != wanted) be_content();
  // Told otherwise, the runtime is told anew at once: it does one after the other.
  const bool is_under_way = asked_ && asked_->what == wanted;
  if (is_under_way) {
    if (now < asked_->overdue) return std::nullopt;
    failed(wanted, "it was not answered");
  } else if (!asked_) {
    if (is_as(wanted)) be_content();
    if (is_as(wanted) || (retry_at_ && now < *retry_at_)) return std::nullopt;
  }
  retry_at_.reset();
  if (wanted == Pausing::Paused) is_ = Is::PerhapsPaused;
  asked_ = Asked{wanted, ++orders_, now + patience};
  return asked_->order;
}

bool Standstill::answered(Time now, std::uint32_t order, const std::string& problem) {
  if (!asked_ || asked_->order != order) return false;
  const Pausing what = asked_->what;
  asked_.reset();
  if (problem.empty()) {
    is_ = what == Pausing::Paused ? Is::Paused : Is::Running;
    be_content();
    return true;
  }
  failed(what, problem);
  retry_at_ = now + retry_after(failures_);
  if (what == Pausing::Paused) is_ = Is::PerhapsRunning;
  return true;
}

void Standstill::failed(Pausing what, std::string message) {
  ++failures_;
  problem_ = {what == Pausing::Paused ? "PauseFailed" : "ResumeFailed", std::move(message)};
}

void Standstill::be_content() {
  failures_ = 0;
  retry_at_.reset();
  problem_.reset();
}

std::optional<Time> Standstill::due() const { return asked_ ? asked_->overdue : retry_at_; }

}  // namespace berth::agent
