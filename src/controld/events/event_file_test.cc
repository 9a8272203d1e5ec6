#include "controld/events/event_file.h"

#include <gtest/gtest.h>

#include <thread>

#include "controld/events/event_log.h"
#include "controld/testing/plane.h"

namespace berth::controld {
namespace {

using control::NoteKind;

// Lets a test look at the disk while the file is open, as one who has killed the process would.
class SharedStore final : public store::Store {
 public:
  explicit SharedStore(MoodyStore& disk) : disk_(disk) {}
  Result<void> commit_if(const std::optional<store::Fence>& fence,
                         const std::vector<store::Change>& batch) override {
    return disk_.commit_if(fence, batch);
  }
  Result<std::optional<std::string>> get(std::string_view key) const override {
    return disk_.get(key);
  }
  Result<std::vector<store::Entry>> list(std::string_view prefix) const override {
    return disk_.list(prefix);
  }
  Result<store::Revision> revision() const override { return disk_.revision(); }
  Result<std::optional<std::vector<store::Commit>>> changes_since(
      store::Revision revision) const override {
    return disk_.changes_since(revision);
  }

 private:
  MoodyStore& disk_;
};

class EventFileTest : public testing::Test {
 protected:
  EventLog open(EventLog::Limits limits = {},
                EventFile::Times times = {.gather = 1ms, .retry = 1ms}) {
    auto kept = open_events(std::make_unique<SharedStore>(disk_), times);
    EXPECT_TRUE(kept) << kept.error().message;
    return EventLog(limits, std::move(*kept));
  }

  static void add(EventLog& log, const std::string& about, int count = 1) {
    for (int i = 0; i < count; ++i) {
      log.add({{NoteKind::Placed, about, "on n1"}},
              std::chrono::system_clock::time_point(std::chrono::milliseconds(1234)));
    }
  }

  std::size_t events_on_disk() const {
    std::size_t count = 0;
    for (const auto& [key, value] : disk_.contents()) count += key.starts_with("events/") ? 1 : 0;
    return count;
  }

  void wait_until_written(std::size_t events) const {
    while (events_on_disk() != events) std::this_thread::sleep_for(1ms);
  }

  MoodyStore disk_;
};

TEST_F(EventFileTest, ALogGoesOnWhereItWasClosed) {
  std::vector<LoggedEvent> before;
  {
    EventLog log = open();
    add(log, "node/n1", 3);
    before = log.list({});
  }
  EventLog log = open();
  EXPECT_EQ(log.list({}), before);
  add(log, "node/n1");
  EXPECT_EQ(log.list({.after = 3}).at(0).number, 4u);
}

TEST_F(EventFileTest, AfterAKillNoNumberIsGivenTwice) {
  EventLog killed = open();
  add(killed, "node/n1", 3);
  wait_until_written(3);
  EventLog restarted = open();
  add(killed, "node/n1");  // seen by a watcher, and lost: the other one had started before
  const std::uint64_t lost = killed.list({}).back().number;
  add(restarted, "node/n1");
  EXPECT_EQ(restarted.list({}).size(), 4u);
  EXPECT_EQ(restarted.list({.after = lost}).size(), 1u);
}

TEST_F(EventFileTest, WhatTheLogDropsIsErased) {
  {
    EventLog log = open({.kept = 10, .share = 2});
    add(log, "instance/quiet/x/0");
    add(log, "instance/noisy/x/0", 50);
  }
  EXPECT_EQ(events_on_disk(), 10u);
  EventLog log = open({.kept = 5, .share = 2});
  EXPECT_EQ(log.list({}).size(), 5u) << "a smaller log takes what fits";
  EXPECT_EQ(log.list({.about = "instance/quiet"}).size(), 1u);
}

TEST_F(EventFileTest, ManyEventsAreOneTransactionAndNoneIsNoWrite) {
  {
    EventLog log = open({}, {.gather = 1h, .retry = 1h});
    add(log, "node/n1", 5000);
  }
  EXPECT_EQ(disk_.commits(), 2u) << "the events, and at which number they end";
  { const EventLog log = open(); }
  EXPECT_EQ(disk_.commits(), 2u);
}

TEST_F(EventFileTest, WhatCannotBeWrittenWaitsAndIsBounded) {
  EventLog log = open({.kept = 10, .share = 2});
  disk_.fail(true);
  add(log, "node/n1", 100);
  while (disk_.attempts() < 3) std::this_thread::sleep_for(1ms);
  add(log, "node/n1", 100);
  EXPECT_EQ(events_on_disk(), 0u);
  disk_.fail(false);
  wait_until_written(10);
  EXPECT_EQ(disk_.contents().size(), 11u);
}

TEST_F(EventFileTest, BytesThatAreNoEventAreDamage) {
  ASSERT_TRUE(disk_.commit({{"events/00000000000000000001", "no event"}}));
  const auto kept = open_events(std::make_unique<SharedStore>(disk_));
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::Damaged);
}

}  // namespace
}  // namespace berth::controld
