#include "controld/events/event_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "controld/api/messages.h"
#include "shell/log.h"
#include "store/sqlite/sqlite_store.h"

namespace berth::controld {
namespace {

using shell::LogLevel;

constexpr std::string_view kEvents = "events/";
constexpr std::string_view kLastNumber = "last_number";

// The number that is written is ahead of those in use, by more than is lost in a moment. So numbers
// that watchers have seen are never given again, although the events did not get to the disk.
constexpr std::uint64_t kAhead = 1'000'000;

// Of one width, so that the order of keys is that of numbers.
std::string key_of(std::uint64_t number) { return fmt::format("{}{:020}", kEvents, number); }

std::optional<LoggedEvent> decode(const std::string& bytes) {
  v1::Event message;
  if (!message.ParseFromString(bytes)) return std::nullopt;
  return LoggedEvent{
      .number = message.number(),
      .time = std::chrono::system_clock::time_point(std::chrono::milliseconds(message.time_ms())),
      .kind = message.kind(),
      .about = message.about(),
      .text = message.text()};
}

Result<std::uint64_t> read_last_number(const store::Store& store) {
  const std::string text = TRY(store.get(kLastNumber)).value_or("0");
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return Error{Code::Damaged, fmt::format("\"{}\" is no number of an event", text)};
}

Result<std::vector<LoggedEvent>> read_events(const store::Store& store) {
  std::vector<LoggedEvent> events;
  for (const store::Entry& entry : TRY(store.list(kEvents))) {
    std::optional<LoggedEvent> event = decode(entry.value);
    if (!event || key_of(event->number) != entry.key) {
      return Error{Code::Damaged, entry.key + " is no event"};
    }
    events.push_back(std::move(*event));
  }
  return events;
}

Result<KeptEvents> open_file(const std::filesystem::path& path) {
  auto store = TRY(store::SqliteStore::open(path));
  return open_events(std::make_unique<store::SqliteStore>(std::move(store)));
}

std::error_code set_aside(const std::filesystem::path& path) {
  std::error_code error;
  std::error_code ignored;
  std::filesystem::rename(path, path.string() + ".damaged", error);
  for (const char* beside : {"-wal", "-shm"}) {
    std::filesystem::remove(path.string() + beside, ignored);
  }
  return error;
}

KeptEvents in_memory_only(const std::string& why) {
  shell::log(LogLevel::Error, "events will be forgotten when the control plane stops",
             {{"error", why}});
  return {};
}

}  // namespace

EventFile::EventFile(std::unique_ptr<store::Store> store, std::uint64_t last_number, Times times)
    : store_(std::move(store)),
      times_(times),
      stored_last_number_(last_number),
      last_number_(last_number),
      thread_([this] { run(); }) {}

EventFile::~EventFile() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void EventFile::put(const LoggedEvent& event) {
  const std::lock_guard lock(mutex_);
  last_number_ = event.number;
  pending_.emplace_hint(pending_.end(), event.number, event);
  if (pending_.size() == 1) changed_.notify_one();
}

void EventFile::erase(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto [at, may_be_on_disk] = pending_.try_emplace(number);
  if (!may_be_on_disk) pending_.erase(at);
  if (pending_.size() == 1) changed_.notify_one();
}

void EventFile::run() {
  std::unique_lock lock(mutex_);
  do {
    changed_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    changed_.wait_for(lock, failing_ ? times_.retry : times_.gather, [this] { return stopping_; });
    if (!pending_.empty()) write(lock);
  } while (!stopping_);
  close();
}

void EventFile::write(std::unique_lock<std::mutex>& lock) {
  Changes changes = std::exchange(pending_, {});
  const std::uint64_t last_number = last_number_ + kAhead;
  lock.unlock();
  const Result<void> written = commit(changes, last_number);
  if (!written && !failing_) {
    shell::log(LogLevel::Error, "events cannot be written; trying again until it works",
               {{"error", written.error().message}});
  }
  if (written && failing_) shell::log(LogLevel::Info, "events can be written again");
  failing_ = !written;
  lock.lock();
  if (!written) take_back(std::move(changes));
}

Result<void> EventFile::commit(const Changes& changes, std::uint64_t last_number) {
  std::vector<store::Change> batch{{std::string(kLastNumber), std::to_string(last_number)}};
  batch.reserve(changes.size() + 1);
  for (const auto& [number, event] : changes) {
    store::Change& change = batch.emplace_back(store::Change{key_of(number), std::nullopt});
    if (event) change.value = api::to_message(*event).SerializeAsString();
  }
  TRY(store_->commit(batch));
  stored_last_number_ = last_number;
  return {};
}

// What was erased while it could not be written has never been there.
void EventFile::take_back(Changes changes) {
  for (auto& [number, event] : changes) {
    const auto [at, waits_again] = pending_.try_emplace(number, std::move(event));
    if (!waits_again) pending_.erase(at);
  }
}

// Nothing is lost now, so the numbers go on without a gap.
void EventFile::close() {
  if (failing_ || stored_last_number_ == last_number_) return;
  const Result<void> written = commit({}, last_number_);
  if (written) return;
  shell::log(LogLevel::Warning, "the numbers of events will have a gap",
             {{"error", written.error().message}});
}

Result<KeptEvents> open_events(std::unique_ptr<store::Store> store, EventFile::Times times) {
  KeptEvents kept;
  kept.events = TRY(read_events(*store));
  kept.last_number = TRY(read_last_number(*store));
  if (!kept.events.empty()) {
    kept.last_number = std::max(kept.last_number, kept.events.back().number);
  }
  kept.file = std::make_unique<EventFile>(std::move(store), kept.last_number, times);
  return kept;
}

KeptEvents open_events(const std::filesystem::path& path) {
  Result<KeptEvents> opened = open_file(path);
  if (opened) return std::move(*opened);
  const std::string why = opened.error().message;
  // It may be good: only out of reach.
  if (opened.error().code == Code::Unavailable || opened.error().code == Code::Exhausted) {
    return in_memory_only(why);
  }
  if (const std::error_code error = set_aside(path)) return in_memory_only(error.message());
  shell::log(LogLevel::Error, "the events so far are set aside: their file cannot be read",
             {{"file", path.string() + ".damaged"}, {"error", why}});
  opened = open_file(path);
  return opened ? std::move(*opened) : in_memory_only(opened.error().message);
}

}  // namespace berth::controld
