#include "cli/show/live_table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace berth::cli {
namespace {

v1::Instance an_instance(const std::string& item, v1::InstanceState state) {
  v1::Instance instance;
  instance.mutable_key()->set_item(item);
  instance.mutable_key()->set_subject("s");
  instance.set_version("1.0");
  instance.set_state(state);
  instance.set_proven(state == v1::ACTIVE);
  if (state == v1::FAILED) {
    instance.mutable_problem()->set_reason("ExitedEarly");
    instance.mutable_problem()->set_message("exit code 3");
  } else {
    instance.mutable_place()->set_node("n1");
  }
  return instance;
}

const std::vector<v1::Instance> kThree{an_instance("app", v1::ACTIVE),
                                       an_instance("broker", v1::ACTIVATING),
                                       an_instance("cache", v1::FAILED)};

TEST(LiveTable, ShowsEveryRowWithItsMark) {
  EXPECT_EQ(live_table({.rows = kThree, .size = {24, 80}, .tick = 1, .style = {}}),
            "   INSTANCE    VERSION  STATE                NODE  MESSAGE\n"
            "*  app/s/0     1.0      Active               n1\n"
            "/  broker/s/0  1.0      Activating           n1\n"
            "!  cache/s/0   1.0      Failed(ExitedEarly)        exit code 3\n"
            "1 active, 1 activating, 1 failed\n");
}

TEST(LiveTable, TurnsTheSpinnerWithTheTick) {
  const auto frame = [](std::uint64_t tick) {
    return live_table({.rows = kThree, .size = {24, 80}, .tick = tick, .style = {.unicode = true}});
  };
  EXPECT_NE(frame(0), frame(1));
  EXPECT_EQ(frame(0), frame(10));
  EXPECT_NE(frame(3).find("⠸  broker"), std::string::npos);
  EXPECT_NE(frame(3).find("✓  app"), std::string::npos);
}

TEST(LiveTable, TurnsTheSpinnerUntilWhatIsActiveIsProven) {
  std::vector<v1::Instance> rows{an_instance("app", v1::ACTIVE)};
  rows[0].set_proven(false);
  const std::string frame = live_table({.rows = rows, .size = {24, 80}, .tick = 1, .style = {}});
  EXPECT_NE(frame.find("/  app/s/0   1.0      Active"), std::string::npos) << frame;
}

TEST(LiveTable, ShowsOnlyWhatIsNotActiveWhenThereIsMoreThanFits) {
  std::vector<v1::Instance> many(50, an_instance("app", v1::ACTIVE));
  for (int i = 0; i < 9; ++i) many.push_back(an_instance("broker", v1::ACTIVATING));
  many.push_back(an_instance("cache", v1::FAILED));
  EXPECT_EQ(live_table({.rows = many, .size = {7, 80}, .tick = 0, .style = {}}),
            "   INSTANCE    VERSION  STATE                NODE  MESSAGE\n"
            "!  cache/s/0   1.0      Failed(ExitedEarly)        exit code 3\n"
            "|  broker/s/0  1.0      Activating           n1\n"
            "|  broker/s/0  1.0      Activating           n1\n"
            "... and 7 more\n"
            "50 active, 9 activating, 1 failed\n");
}

TEST(LiveTable, IsJustTheSummaryWhenEverythingIsActiveAndTooMuch) {
  const std::vector<v1::Instance> many(50, an_instance("app", v1::ACTIVE));
  EXPECT_EQ(live_table({.rows = many, .size = {10, 80}, .tick = 0, .style = {}}), "50 active\n");
}

TEST(LiveTable, FitsIntoTheTerminal) {
  const std::vector<v1::Instance> many(50, an_instance("app", v1::ACTIVATING));
  for (const std::size_t rows : {5, 6, 10, 24, 54, 60}) {
    const std::string frame =
        live_table({.rows = many, .size = {rows, 80}, .tick = 0, .style = {}});
    EXPECT_LT(std::ranges::count(frame, '\n'), static_cast<std::ptrdiff_t>(rows)) << rows;
  }
}

TEST(Clipped, CountsColumnsNotBytesAndNotColours) {
  EXPECT_EQ(clipped("abcdef", 3), "abc");
  EXPECT_EQ(clipped("äöü", 2), "äö");
  EXPECT_EQ(clipped("\x1b[31mred\x1b[0m rest", 3), "\x1b[31mred\x1b[0m");
  EXPECT_EQ(clipped("\x1b[31mred", 2), "\x1b[31mre\x1b[0m");
  EXPECT_EQ(clipped("ab", 10), "ab");
}

TEST(Canvas, GoesBackOverWhatItDrew) {
  std::ostringstream out;
  Canvas canvas(out);
  canvas.draw("one\ntwo\n", {24, 80});
  EXPECT_EQ(out.str(), "\r\x1b[Jone\ntwo\n");
  out.str("");
  canvas.draw("three\n", {24, 80});
  EXPECT_EQ(out.str(), "\x1b[2A\r\x1b[Jthree\n");
}

TEST(Canvas, ReckonsWithLinesThatWrapSinceTheTerminalIsNarrower) {
  std::ostringstream out;
  Canvas canvas(out);
  canvas.draw("0123456789\nshort\n", {24, 80});
  out.str("");
  canvas.draw("x\n", {24, 4});
  EXPECT_EQ(out.str(), "\x1b[5A\r\x1b[Jx\n");  // 10 columns take three rows of 4, 5 take two
}

TEST(Canvas, ClipsToTheWidthAndTheHeight) {
  std::ostringstream out;
  Canvas canvas(out);
  canvas.draw("0123456789\n2\n3\n4\n", {3, 4});
  EXPECT_EQ(out.str(), "\r\x1b[J0123\n2\n");
}

}  // namespace
}  // namespace berth::cli
