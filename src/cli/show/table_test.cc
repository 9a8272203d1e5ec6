#include "cli/show/table.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

TEST(Table, AlignsItsColumnsByWhatIsSeen) {
  Table table({{"NAME"}, {"SIZE", Align::Right}, {"WHERE"}});
  table.add({{"bröker"}, {"5"}, {"n1"}});
  table.add({{"x"}, {"1200"}, {"n2"}});
  EXPECT_EQ(table.render({}, 2),
            "  NAME    SIZE  WHERE\n"
            "  bröker     5  n1\n"
            "  x       1200  n2\n");
}

TEST(Table, LeavesOutColumnsThatSayNothing) {
  Table table({{"A"}, {"B"}, {"C"}});
  table.add({{"1"}, {""}, {"3"}});
  EXPECT_EQ(table.render({}, 0), "A  C\n1  3\n");
}

TEST(Table, PaintsWithoutMovingColumns) {
  Table table({{""}, {""}});
  table.add({{"ok", Tone::Good}, {"1"}});
  table.add({{"other"}, {"2"}});
  EXPECT_EQ(table.render({.colours = true, .unicode = false}, 0),
            "\x1b[32mok\x1b[0m     1\nother  2\n");
}

TEST(Table, LetsNoNamePlayWithTheTerminal) {
  Table table({{""}});
  table.add({{"a\x1b[2Jb"}});
  EXPECT_EQ(table.render({}, 0), "a?[2Jb\n");
}

Table wide_table() {
  Table table({{"NAME"}, {"TIME"}, {"SPARE", Align::Left, 1}, {.head = "TEXT", .wraps = true}});
  table.add({{"n1"}, {"2026-01-01", Tone::Plain, "01-01"}, {"x"}, {"a text that is rather long"}});
  return table;
}

TEST(Table, LeavesNothingOutWithoutATerminal) {
  EXPECT_EQ(wide_table().render({}, 0),
            "NAME  TIME        SPARE  TEXT\n"
            "n1    2026-01-01  x      a text that is rather long\n");
}

TEST(Table, IsNoWiderThanTheTerminal) {
  EXPECT_EQ(wide_table().render({.columns = 51}, 0), wide_table().render({}, 0));
  EXPECT_EQ(wide_table().render({.columns = 46}, 0),
            "NAME  TIME   SPARE  TEXT\n"
            "n1    01-01  x      a text that is rather long\n");
  EXPECT_EQ(wide_table().render({.columns = 45}, 0),
            "NAME  TIME   SPARE  TEXT\n"
            "n1    01-01  x      a text that is rather\n"
            "                    long\n");
  EXPECT_EQ(wide_table().render({.columns = 38}, 0),
            "NAME  TIME   SPARE\n"
            "n1    01-01  x\n"
            "    a text that is rather long\n");
  EXPECT_EQ(wide_table().render({.columns = 19}, 2),
            "  NAME  TIME\n"
            "  n1    01-01\n"
            "      a text that\n"
            "      is rather\n"
            "      long\n");
}

TEST(Table, CutsWhatCannotBeWrapped) {
  Table table({{"INSTANCE"}, {"NODE"}});
  table.add({{"telemetry/vehicle/0"}, {"n1"}});
  EXPECT_EQ(table.render({.unicode = true, .columns = 18}, 0),
            "INSTANCE      NODE\ntelemetry/v…  n1\n");
}

}  // namespace
}  // namespace berth::cli
