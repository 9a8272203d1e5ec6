#include "cli/show/progress_bar.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

namespace berth::cli {
namespace {

TEST(ProgressBar, IsAsLongAsThereIsRoomFor) {
  EXPECT_EQ(progress_line(40, 100, "instances", {.columns = 50}),
            "[########............]  40 %  40 of 100 instances");
  EXPECT_EQ(progress_line(100, 100, "x", {.columns = 33}), "[##########] 100 %  100 of 100 x");
  EXPECT_EQ(progress_line(0, 0, "x", {.columns = 20}), "100 %  0 of 0 x");
  EXPECT_EQ(progress_line(5, 10, "instances", {.unicode = false, .columns = 10}).size(), 9u);
}

TEST(ProgressBar, GoesWhenItIsDone) {
  std::ostringstream out;
  {
    ProgressBar bar(out, {.columns = 30}, 4, "x");
    bar.advance(1);
    EXPECT_EQ(out.str(), "") << "there is little to wait for";
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    bar.advance(1);
  }
  EXPECT_EQ(out.str(), "\r[#####......]  50 %  2 of 4 x\r" + std::string(29, ' ') + "\r");
}

TEST(ProgressBar, IsSilentWhereNobodySeesIt) {
  std::ostringstream out;
  {
    ProgressBar bar(out, {}, 4, "x");
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    bar.advance(4);
  }
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace berth::cli
