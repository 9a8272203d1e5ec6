#include "controld/event_log.h"

#include <gtest/gtest.h>

namespace berth::controld {
namespace {

using control::Note;
using control::NoteKind;

std::vector<std::uint64_t> numbers(const std::vector<LoggedEvent>& events) {
  std::vector<std::uint64_t> result;
  for (const LoggedEvent& event : events) result.push_back(event.number);
  return result;
}

TEST(EventLog, NumbersGrowAndTheOldestAreForgotten) {
  EventLog log(3);
  for (int i = 0; i < 5; ++i) log.add({{NoteKind::Placed, "instance/a/b/0", ""}}, {});
  EXPECT_EQ(numbers(log.list({})), (std::vector<std::uint64_t>{3, 4, 5}));
}

TEST(EventLog, ListsWhatIsNewerAndTheNewestFirstCut) {
  EventLog log;
  for (int i = 0; i < 5; ++i) log.add({{NoteKind::Placed, "node/n1", ""}}, {});
  EXPECT_EQ(numbers(log.list({.after = 3})), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(numbers(log.list({.limit = 2})), (std::vector<std::uint64_t>{4, 5}));
}

TEST(EventLog, ListsWhatIsAboutAThing) {
  EventLog log;
  log.add({{NoteKind::NodeLost, "node/n1", ""}, {NoteKind::NodeLost, "node/n10", ""}}, {});
  log.add({{NoteKind::Placed, "instance/web/default/0", ""}}, {});
  EXPECT_EQ(numbers(log.list({.about = "node/n1"})), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(numbers(log.list({.about = "instance/web"})), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(numbers(log.list({.about = "node/"})), (std::vector<std::uint64_t>{1, 2}));
}

}  // namespace
}  // namespace berth::controld
