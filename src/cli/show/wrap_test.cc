#include "cli/show/wrap.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(Wrap, BreaksAtSpacesElseAtJointsElseAnywhere) {
  EXPECT_EQ(wrapped("what runs where", 9), (Lines{"what runs", "where"}));
  EXPECT_EQ(wrapped("process,runc(NotReady)", 10), (Lines{"process,", "runc(NotRe", "ady)"}));
  EXPECT_EQ(wrapped("äöüäöü", 4), (Lines{"äöüä", "öü"}));
  EXPECT_EQ(wrapped("", 4), (Lines{""}));
  EXPECT_EQ(wrapped("abc", 0), (Lines{"a", "b", "c"}));
}

TEST(Wrap, MarksWhatIsCut) {
  EXPECT_EQ(shortened("telemetry", 9, true), "telemetry");
  EXPECT_EQ(shortened("telemetry", 5, true), "tele…");
  EXPECT_EQ(shortened("telemetry", 5, false), "tele~");
}

constexpr const char* kHelp =
    "Examples:\n"
    "  berth get nodes                what there is\n"
    "  berth why --offline app -f cluster.yaml -f items.yaml\n"
    "\n"
    "check      reads every record, and\n"
    "           the last good states\n"
    "Ctrl-C is safe: what was accepted\n"
    "goes on.\n"
    "Exit codes: 0 done.";

TEST(Wrap, LeavesAHelpAloneThatFits) {
  EXPECT_EQ(refilled(kHelp, 0), std::string(kHelp) + "\n");
  EXPECT_EQ(refilled(kHelp, 80), std::string(kHelp) + "\n");
}

TEST(Wrap, FillsAHelpAgainThatDoesNot) {
  EXPECT_EQ(refilled(kHelp, 32),
            "Examples:\n"
            "  berth get nodes\n"
            "      what there is\n"
            "  berth why --offline app \\\n"
            "      -f cluster.yaml -f \\\n"
            "      items.yaml\n"
            "\n"
            "check      reads every record,\n"
            "           and the last good\n"
            "           states\n"
            "Ctrl-C is safe: what was\n"
            "accepted goes on.\n"
            "Exit codes: 0 done.\n");
}

}  // namespace
}  // namespace berth::cli
