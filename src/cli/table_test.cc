#include "cli/table.h"

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

}  // namespace
}  // namespace berth::cli
