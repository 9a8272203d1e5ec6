#include <gtest/gtest.h>

#include "shell/log_line.h"

namespace berth::shell {
namespace {

// 2026-11-15T23:10:11.123Z
const std::chrono::system_clock::time_point kWhen{std::chrono::milliseconds(1'794'784'211'123)};

TEST(Log, ATextLineIsReadByPeopleAndByCut) {
  EXPECT_EQ(log_line(LogFormat::Text, kWhen, LogLevel::Info, "node joined", {{"node", "n1"}}),
            "2026-11-15T23:10:11.123Z info  node joined node=n1\n");
}

TEST(Log, ValuesAreQuotedWhenTheyNeedIt) {
  const auto line = log_line(LogFormat::Text, kWhen, LogLevel::Warning, "odd",
                             {{"a", "two words"}, {"b", ""}, {"c", "x=\"1\""}, {"d", "l1\nl2"}});
  EXPECT_EQ(line,
            "2026-11-15T23:10:11.123Z warn  odd a=\"two words\" b=\"\" c=\"x=\\\"1\\\"\" "
            "d=\"l1\\nl2\"\n");
}

TEST(Log, ASentenceCannotForgeALine) {
  const auto line = log_line(LogFormat::Text, kWhen, LogLevel::Error, "a\nb", {});
  EXPECT_EQ(line, "2026-11-15T23:10:11.123Z error a b\n");
}

TEST(Log, AJsonLineIsOneObject) {
  EXPECT_EQ(log_line(LogFormat::Json, kWhen, LogLevel::Debug, "say \"hi\"", {{"node", "n1"}}),
            "{\"time\":\"2026-11-15T23:10:11.123Z\",\"level\":\"debug\","
            "\"message\":\"say \\\"hi\\\"\",\"node\":\"n1\"}\n");
}

TEST(Log, FormatAndLevelAreReadAsTheyAreWritten) {
  EXPECT_EQ(*parse_log_format("json"), LogFormat::Json);
  EXPECT_EQ(*parse_log_level("warn"), LogLevel::Warning);
  EXPECT_FALSE(parse_log_format("xml"));
  EXPECT_FALSE(parse_log_level("loud"));
}

}  // namespace
}  // namespace berth::shell
