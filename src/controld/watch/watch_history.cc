#include "controld/watch/watch_history.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "berth/v1/api.pb.h"

namespace berth::controld {

WatchHistory::WatchHistory(std::size_t kept) : kept_(kept) { begin_anew(); }

void WatchHistory::begin_anew() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  revision_ = std::max(revision_ + 1, static_cast<std::uint64_t>(us));
  begin_ = revision_;
  entries_.clear();
}

WatchHistory::Entry& WatchHistory::add(std::string topic, std::string name, api::AnswerPtr plain) {
  entries_.push_back({++revision_, std::move(topic), std::move(name), std::move(plain), nullptr});
  if (entries_.size() > kept_) {
    begin_ = entries_.front().revision;
    entries_.pop_front();
  }
  return entries_.back();
}

bool WatchHistory::reaches(std::uint64_t revision) const {
  return begin_ <= revision && revision <= revision_;
}

const api::AnswerPtr& numbered(WatchHistory::Entry& entry) {
  if (entry.numbered == nullptr) {
    v1::WatchEvent event;
    event.CopyFrom(entry.plain->message());
    event.set_revision(entry.revision);
    entry.numbered = api::answer_of(std::move(event));
  }
  return entry.numbered;
}

}  // namespace berth::controld
