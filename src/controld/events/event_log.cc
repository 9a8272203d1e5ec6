#include "controld/events/event_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::controld {

EventLog::EventLog(Limits limits, KeptEvents kept)
    : limits_(limits), last_number_(kept.last_number), file_(std::move(kept.file)) {
  for (LoggedEvent& event : kept.events) insert(std::move(event));
  make_room();
}

std::vector<LoggedEvent> EventLog::add(const std::vector<control::Note>& notes,
                                       std::chrono::system_clock::time_point now) {
  std::vector<LoggedEvent> added;
  added.reserve(notes.size());
  const std::lock_guard lock(mutex_);
  for (const control::Note& note : notes) {
    added.push_back(
        number({0, now, std::string(control::to_string(note.kind)), note.about, note.text}));
  }
  return added;
}

LoggedEvent EventLog::add(std::string kind, std::string about, std::string text,
                          std::chrono::system_clock::time_point now) {
  const std::lock_guard lock(mutex_);
  return number({0, now, std::move(kind), std::move(about), std::move(text)});
}

LoggedEvent EventLog::number(LoggedEvent event) {
  event.number = ++last_number_;
  if (file_ != nullptr) file_->put(event);
  insert(event);
  make_room();
  return event;
}

void EventLog::insert(LoggedEvent event) {
  const auto object = objects_.try_emplace(event.about).first;
  object->second.insert(object->second.end(), event.number);
  recount(object, object->second.size() - 1);
  const std::uint64_t number = event.number;
  events_.emplace_hint(events_.end(), number, std::move(event));
}

void EventLog::make_room() {
  while (events_.size() > limits_.kept) {
    const std::string_view loser =
        crowded_.empty() ? events_.begin()->second.about : crowded_.rbegin()->second;
    const auto object = objects_.find(loser);
    const std::uint64_t number = *object->second.begin();
    object->second.erase(object->second.begin());
    recount(object, object->second.size() + 1);
    if (object->second.empty()) objects_.erase(object);
    events_.erase(number);
    if (file_ != nullptr) file_->erase(number);
  }
}

void EventLog::recount(Objects::iterator object, std::size_t before) {
  const auto& [name, numbers] = *object;
  if (before > limits_.share) crowded_.erase({before, name});
  if (numbers.size() > limits_.share) crowded_.emplace(numbers.size(), name);
}

std::vector<LoggedEvent> EventLog::list(const Selection& selection) const {
  std::vector<LoggedEvent> found;
  const std::lock_guard lock(mutex_);
  for (auto it = events_.rbegin(); it != events_.rend(); ++it) {
    const LoggedEvent& event = it->second;
    if (event.number <= selection.after || found.size() == selection.limit) break;
    if (is_about(event.about, selection.about)) found.push_back(event);
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
