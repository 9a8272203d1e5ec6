#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "controld/events/logged_event.h"
#include "store/store.h"

namespace berth::controld {

// Writes down what an event log holds, on a thread of its own: what comes within a moment is one
// transaction, so that events cost neither the loop nor the disk much. Who is killed loses that
// moment. Closing writes what is left. While there are no events nothing is written.
//
// A store that cannot be written is tried again; the changes wait, and what is erased meanwhile is
// not kept waiting, so they are bounded as the log is. Safe to call from any thread.
class EventFile {
 public:
  struct Times {
    Duration gather = 500ms;
    Duration retry = 5s;
  };

  // `last_number` as the store has it.
  EventFile(std::unique_ptr<store::Store> store, std::uint64_t last_number, Times times);
  ~EventFile();

  void put(const LoggedEvent& event);
  void erase(std::uint64_t number);

 private:
  using Changes = std::map<std::uint64_t, std::optional<LoggedEvent>>;  // nullopt: erased

  void run();
  void write(std::unique_lock<std::mutex>& lock);
  Result<void> commit(const Changes& changes, std::uint64_t last_number);
  void take_back(Changes changes);
  void close();

  const std::unique_ptr<store::Store> store_;
  const Times times_;
  std::uint64_t stored_last_number_;  // of the thread
  bool failing_ = false;              // of the thread

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Changes pending_;
  std::uint64_t last_number_;
  bool stopping_ = false;
  std::thread thread_;
};

// What a log goes on from: events in order, and the greatest number that anybody may have seen.
struct KeptEvents {
  std::vector<LoggedEvent> events = {};
  std::uint64_t last_number = 0;
  std::unique_ptr<EventFile> file = nullptr;
};

// Nothing that is wrong with the file is an error. One that is damaged is set aside, as
// PATH.damaged, and another begun; if none can be used, events are kept in memory only.
KeptEvents open_events(const std::filesystem::path& path);

Result<KeptEvents> open_events(std::unique_ptr<store::Store> store, EventFile::Times times = {});

}  // namespace berth::controld
