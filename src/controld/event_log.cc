#include "controld/event_log.h"

#include <algorithm>
#include <utility>

namespace berth::controld {

std::vector<LoggedEvent> EventLog::add(std::vector<control::Note> notes,
                                       std::chrono::system_clock::time_point now) {
  std::vector<LoggedEvent> added;
  added.reserve(notes.size());
  const std::lock_guard lock(mutex_);
  for (control::Note& note : notes) {
    added.push_back({++last_number_, now, std::move(note)});
    if (events_.size() == kept_) events_.pop_front();
    events_.push_back(added.back());
  }
  return added;
}

std::vector<LoggedEvent> EventLog::list(const Selection& selection) const {
  std::vector<LoggedEvent> found;
  const std::lock_guard lock(mutex_);
  for (auto it = events_.rbegin(); it != events_.rend(); ++it) {
    if (it->number <= selection.after || found.size() == selection.limit) break;
    if (is_about(it->note.about, selection.about)) found.push_back(*it);
  }
  std::ranges::reverse(found);
  return found;
}

bool is_about(std::string_view name, std::string_view about) {
  if (!name.starts_with(about)) return false;
  return about.empty() || name.size() == about.size() || about.back() == '/' ||
         name[about.size()] == '/';
}

}  // namespace berth::controld
