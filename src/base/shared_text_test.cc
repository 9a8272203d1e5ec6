#include "base/shared_text.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace berth {
namespace {

TEST(SharedText, IsTheTextThatItWasMadeOf) {
  const SharedText name("camera");
  EXPECT_EQ(name.text(), "camera");
  EXPECT_FALSE(name.empty());
  EXPECT_TRUE(SharedText("").empty());
  EXPECT_EQ(SharedText().text(), "");
  EXPECT_EQ(SharedText(), SharedText(""));
}

TEST(SharedText, IsSharedByItsCopiesAndByWhatIsMadeOfTheSameText) {
  const SharedText name("camera");
  const SharedText copy = name;
  const SharedText again("camera");
  EXPECT_EQ(&copy.text(), &name.text());
  EXPECT_EQ(&again.text(), &name.text());
}

TEST(SharedText, IsEqualToWhatAnotherThreadMakesOfTheSameText) {
  const SharedText name("camera");
  SharedText other;
  std::thread([&] { other = SharedText("camera"); }).join();
  EXPECT_NE(&other.text(), &name.text());
  EXPECT_EQ(other, name);
  EXPECT_EQ(other.hash(), name.hash());
  EXPECT_EQ(other <=> name, std::strong_ordering::equal);
}

TEST(SharedText, IsOrderedByBytes) {
  EXPECT_LT(SharedText(), SharedText("a"));
  EXPECT_LT(SharedText("a"), SharedText("aa"));
  EXPECT_LT(SharedText("Z"), SharedText("a"));
  EXPECT_GT(SharedText("\xc3"), SharedText("z"));
}

TEST(SharedText, IsEmptyAfterItWasMovedFrom) {
  SharedText from("camera");
  const SharedText to = std::move(from);
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): this is what is tested
  EXPECT_EQ(to.text(), "camera");
}

TEST(SharedText, StaysWhatItIsWhileManyOthersAreMade) {
  std::vector<SharedText> all;
  for (int i = 0; i < 10'000; ++i) all.emplace_back("name-" + std::to_string(i));
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(all[i].text(), "name-" + std::to_string(i));
}

TEST(SharedText, IsCopiedAndLetGoByManyThreadsAtOnce) {
  SharedText name("camera");
  std::atomic<bool> equal = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&equal, name] {
      for (int n = 0; n < 20'000; ++n) {
        const SharedText copy = name;
        if (copy.text() != "camera") equal = false;
      }
    });
  }
  name = SharedText("other");
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(equal);
}

}  // namespace
}  // namespace berth
