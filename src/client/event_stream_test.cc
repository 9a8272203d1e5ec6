#include "client/event_stream.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::client {
namespace {

std::vector<std::string> fed(const std::vector<std::string>& pieces) {
  EventStream stream;
  std::vector<std::string> events;
  for (const std::string& piece : pieces) {
    const auto took = stream.feed(piece, [&](const ServerEvent& event) -> Result<bool> {
      events.push_back(event.name + "|" + event.data);
      return true;
    });
    EXPECT_TRUE(took && *took);
  }
  return events;
}

using Events = std::vector<std::string>;

TEST(EventStream, TakesEventsApart) {
  EXPECT_EQ(fed({"data: a\n\ndata: b\n\n"}), (Events{"|a", "|b"}));
}

TEST(EventStream, DoesNotCareHowTheBytesAreCut) {
  const std::string text = "event: status\ndata: {\"a\":1}\n\n:beat\n\ndata:b\r\n\r\n";
  std::vector<std::string> pieces;
  for (const char c : text) pieces.emplace_back(1, c);
  EXPECT_EQ(fed(pieces), (Events{"status|{\"a\":1}", "|b"}));
}

TEST(EventStream, JoinsTheLinesOfOneEvent) {
  EXPECT_EQ(fed({"data: a\ndata: b\n\n"}), Events{"|a\nb"});
}

TEST(EventStream, SkipsCommentsAndUnfinishedEvents) {
  EXPECT_EQ(fed({": beat\n\nid: 7\n\ndata: cut"}), Events{});
}

TEST(EventStream, EndsWhenTheTakerHasEnough) {
  EventStream stream;
  int count = 0;
  const auto took = stream.feed("data: a\n\ndata: b\n\n", [&](const ServerEvent&) -> Result<bool> {
    ++count;
    return false;
  });
  EXPECT_FALSE(*took);
  EXPECT_EQ(count, 1);
}

TEST(EventStream, RefusesAnEventWithoutEnd) {
  EventStream stream;
  const std::string piece = "data: " + std::string(EventStream::kEventBytesMax, 'x');
  const auto took = stream.feed(piece, [](const ServerEvent&) -> Result<bool> { return true; });
  ASSERT_FALSE(took);
  EXPECT_EQ(took.error().code, Code::Exhausted);
}

}  // namespace
}  // namespace berth::client
