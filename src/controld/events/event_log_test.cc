#include "controld/events/event_log.h"

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
  EventLog log({.kept = 3, .share = 1});
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

TEST(EventLog, WhoSaysMuchPushesOutOnlyWhatItSaidItself) {
  EventLog log({.kept = 100, .share = 4});
  for (int i = 0; i < 6; ++i) log.add({{NoteKind::Placed, "instance/quiet/x/0", ""}}, {});
  for (int i = 0; i < 1000; ++i) log.add({{NoteKind::StatusChanged, "instance/noisy/x/0", ""}}, {});
  EXPECT_EQ(numbers(log.list({.about = "instance/quiet"})),
            (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
  const auto noisy = log.list({.about = "instance/noisy"});
  EXPECT_EQ(noisy.size(), 94u);
  EXPECT_EQ(noisy.front().number, 913u) << "the newest are kept";
  EXPECT_EQ(noisy.back().number, 1006u);
}

TEST(EventLog, IfNobodyHasMoreThanItsShareTheOldestOfAllGoes) {
  EventLog log({.kept = 100, .share = 4});
  for (int i = 0; i < 150; ++i) {
    log.add({{NoteKind::Placed, "instance/web/x/" + std::to_string(i), ""}}, {});
  }
  const auto kept = log.list({});
  EXPECT_EQ(kept.size(), 100u);
  EXPECT_EQ(kept.front().about, "instance/web/x/50");
  for (int i = 0; i < 10; ++i) log.add({{NoteKind::NodeLost, "node/n1", ""}}, {});
  EXPECT_EQ(log.list({.about = "node/n1"}).size(), 4u)
      << "its share, although others have one each";
}

}  // namespace
}  // namespace berth::controld
