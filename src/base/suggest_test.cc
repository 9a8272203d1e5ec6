#include "base/suggest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace berth {
namespace {

constexpr std::array<std::string_view, 6> kFields{"images", "image", "env",
                                                  "quotas", "args",  "sharedResources"};

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("same", "same"), 0u);
  EXPECT_EQ(edit_distance("imges", "images"), 1u);
  EXPECT_EQ(edit_distance("imagess", "images"), 1u);
  EXPECT_EQ(edit_distance("imagas", "images"), 1u);
  EXPECT_EQ(edit_distance("iamges", "images"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

TEST(EditDistance, TakesUpperAndLowerCaseAsTheSame) {
  EXPECT_EQ(edit_distance("SHAREDresources", "sharedResources"), 0u);
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("imges", kFields), "images");
  EXPECT_EQ(nearest("shared_resources", kFields), "sharedResources");
  EXPECT_EQ(nearest("argz", kFields), "args");
  EXPECT_EQ(nearest("quota", kFields), "quotas");
}

TEST(Nearest, PrefersTheFirstOfEquals) {
  constexpr std::array<std::string_view, 2> kWords{"cat", "car"};
  EXPECT_EQ(nearest("cab", kWords), "cat");
}

TEST(Nearest, SaysNothingRatherThanNonsense) {
  EXPECT_EQ(nearest("hostname", kFields), std::nullopt);
  EXPECT_EQ(nearest("x", kFields), std::nullopt);
  EXPECT_EQ(nearest("", kFields), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'a'), kFields), std::nullopt);
}

TEST(DidYouMean, IsReadyToBeAppended) {
  EXPECT_EQ(did_you_mean("imges", kFields), " Did you mean \"images\"?");
  EXPECT_EQ(did_you_mean("hostname", kFields), "");
}

}  // namespace
}  // namespace berth
