#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/events.h"
#include "controld/events/event_file.h"
#include "controld/events/logged_event.h"

namespace berth::controld {

// The newest events, a bounded number of them. If there is no room for another one, the object with
// the most events gives its oldest, as long as it has more than its share; else the oldest of all
// goes. So who says much pushes out only what it said itself. Safe to call from any thread.
class EventLog {
 public:
  static constexpr std::size_t kKept = 10'000;

  struct Limits {
    std::size_t kept = kKept;
    std::size_t share = 32;  // of one object, which others leave alone
  };
  EventLog() : EventLog(Limits{}) {}
  // Goes on from what was kept, and hands on every change to the file.
  explicit EventLog(Limits limits, KeptEvents kept = {});

  // Gives the notes their numbers, in order.
  std::vector<LoggedEvent> add(const std::vector<control::Note>& notes,
                               std::chrono::system_clock::time_point now);

  // One that is not about what the controller decides.
  LoggedEvent add(std::string kind, std::string about, std::string text,
                  std::chrono::system_clock::time_point now);

  struct Selection {
    std::string_view about;    // "node/n1" is about itself and what lies below; empty: all
    std::uint64_t after = 0;   // only those with a greater number
    std::size_t limit = 1000;  // the newest so many
  };
  // Oldest first.
  std::vector<LoggedEvent> list(const Selection& selection) const;

 private:
  using Numbers = std::set<std::uint64_t>;
  using Objects = std::map<std::string, Numbers, std::less<>>;

  LoggedEvent number(LoggedEvent event);  // with the mutex held
  void insert(LoggedEvent event);
  void make_room();
  void recount(Objects::iterator object, std::size_t before);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, LoggedEvent> events_;
  Objects objects_;  // the numbers of their events
  // Those with more than their share, by how many they have. The names are those in `objects_`.
  std::set<std::pair<std::size_t, std::string_view>> crowded_;
  std::uint64_t last_number_ = 0;
  std::unique_ptr<EventFile> file_;  // may be null: then events live as long as the process
};

// Whether something called `name` ("instance/web/default/0") is meant by `about`, a whole part of
// the name from its beginning ("instance/web"), or everything.
bool is_about(std::string_view name, std::string_view about);

}  // namespace berth::controld
