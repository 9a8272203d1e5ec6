#include "controld/loop/store_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "controld/testing/plane.h"

namespace berth::controld {
namespace {

using Changes = std::vector<store::Change>;

class Writer : public testing::Test {
 protected:
  StoreWriter::Outcome outcome() {
    writer_.wait();
    auto outcome = writer_.take_outcome();
    EXPECT_TRUE(outcome);
    return std::move(*outcome);
  }

  MoodyStore store_;
  std::atomic<int> ended_ = 0;
  StoreWriter writer_{store_, store::Fence{"owner", std::nullopt}, [this] { ++ended_; }};
};

TEST_F(Writer, SaysWhenACommitHasEnded) {
  const Changes batch{{"k", "1"}};
  writer_.commit(batch);
  EXPECT_TRUE(outcome().result);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(store_.contents().at("k"), "1");
  EXPECT_FALSE(writer_.take_outcome()) << "it is taken once";
}

TEST_F(Writer, DoesNotKeepWaitingWhoTellsIt) {
  const Changes batch{{"k", "1"}};
  store_.hold();
  writer_.commit(batch);
  EXPECT_FALSE(writer_.take_outcome());
  store_.let_go();
  EXPECT_TRUE(outcome().result);
}

TEST_F(Writer, SaysWhyACommitHasFailed) {
  const Changes batch{{"k", "1"}};
  store_.fail(true);
  writer_.commit(batch);
  EXPECT_EQ(outcome().result.error().code, Code::Exhausted);
  EXPECT_TRUE(store_.contents().empty());
}

TEST_F(Writer, WritesNothingForWhoWasReplaced) {
  store_.seize({"owner", "another"});
  const Changes batch{{"k", "1"}};
  writer_.commit(batch);
  EXPECT_EQ(outcome().result.error().code, Code::Conflict);
  EXPECT_FALSE(store_.contents().contains("k"));
}

TEST_F(Writer, CallsComeInTheirTurn) {
  const Changes batch{{"k", "1"}};
  std::promise<std::string> seen;
  std::promise<Result<void>> done;
  store_.hold();
  writer_.commit(batch);
  writer_.call({.make = [&](const store::Store& store) -> Result<Changes> {
                  seen.set_value(store.get("k").value().value_or(""));
                  return Changes{{"l", "2"}};
                },
                .done = [&](const Result<void>& result) { done.set_value(result); }});
  store_.let_go();
  EXPECT_EQ(seen.get_future().get(), "1");
  EXPECT_TRUE(done.get_future().get());
  EXPECT_EQ(store_.contents().at("l"), "2");
}

TEST_F(Writer, ACallOfWhoWasReplacedIsRefused) {
  store_.seize({"owner", "another"});
  std::promise<Result<void>> done;
  writer_.call({.make = [](const store::Store&) -> Result<Changes> {
                  return Changes{{"l", "2"}};
                },
                .done = [&](const Result<void>& result) { done.set_value(result); }});
  EXPECT_EQ(done.get_future().get().error().code, Code::Unavailable);
  EXPECT_FALSE(store_.contents().contains("l"));
}

TEST(StoreWriter, DoesWhatItWasToldBeforeItEnds) {
  MoodyStore store;
  const Changes batch{{"k", "1"}};
  {
    StoreWriter(store, std::nullopt, [] {}).commit(batch);
  }
  EXPECT_TRUE(store.contents().contains("k"));
}

}  // namespace
}  // namespace berth::controld
