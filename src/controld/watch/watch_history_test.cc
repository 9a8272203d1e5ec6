#include "controld/watch/watch_history.h"

#include <gtest/gtest.h>

#include "berth/v1/api.pb.h"

namespace berth::controld {
namespace {

api::AnswerPtr an_answer() {
  v1::WatchEvent event;
  event.mutable_node()->set_name("n1");
  return api::answer_of(std::move(event));
}

TEST(WatchHistory, ReachesBackAsFarAsItIsKept) {
  WatchHistory history(2);
  const std::uint64_t begin = history.revision();
  EXPECT_TRUE(history.reaches(begin));
  const std::uint64_t first = history.add("nodes", "node/n1", an_answer()).revision;
  history.add("nodes", "node/n1", an_answer());
  EXPECT_TRUE(history.reaches(begin));
  history.add("nodes", "node/n1", an_answer());
  EXPECT_FALSE(history.reaches(begin));
  EXPECT_TRUE(history.reaches(first));
}

TEST(WatchHistory, DoesNotKnowTheRevisionsOfAnother) {
  WatchHistory before;
  before.add("nodes", "node/n1", an_answer());
  WatchHistory after;
  EXPECT_FALSE(after.reaches(before.revision() - 1));
  EXPECT_FALSE(after.reaches(after.revision() + 1));
}

TEST(WatchHistory, ThatBeginsAnewKnowsNothingOfWhatWas) {
  WatchHistory history;
  const std::uint64_t seen = history.add("nodes", "node/n1", an_answer()).revision;
  history.begin_anew();
  EXPECT_FALSE(history.reaches(seen));
  EXPECT_TRUE(history.entries().empty());
}

TEST(WatchHistory, GivesTheRevisionWithTheAnswer) {
  WatchHistory history;
  WatchHistory::Entry& entry = history.add("nodes", "node/n1", an_answer());
  const auto& event = dynamic_cast<const v1::WatchEvent&>(numbered(entry)->message());
  EXPECT_EQ(event.revision(), entry.revision);
  EXPECT_EQ(event.node().name(), "n1");
  EXPECT_FALSE(dynamic_cast<const v1::WatchEvent&>(entry.plain->message()).has_revision());
}

}  // namespace
}  // namespace berth::controld
