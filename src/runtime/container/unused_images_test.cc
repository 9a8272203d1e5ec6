#include "runtime/container/unused_images.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/container/image_cache.h"
#include "runtime/files/run_directory.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

std::string digest(char digit) { return "sha256:" + std::string(64, digit); }

class UnusedImages : public testing::Test {
 protected:
  UnusedImages() {
    std::string path = (fs::temp_directory_path() / "berth-unused-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) machine_.state_dir = path;
    machine_.image_dir = images();
    machine_.images = {.unused_max = Bytes(100), .free_percent_min = 0};
  }
  ~UnusedImages() override {
    std::error_code ignored;
    fs::remove_all(machine_.state_dir, ignored);
  }

  fs::path images() const { return image_directory(machine_.state_dir); }

  void put(char digit, int size, std::chrono::hours unused_for) {
    const fs::path place = place_of_image(images(), digest(digit));
    fs::create_directories(place / "rootfs");
    std::ofstream(place / "config.json") << "{}";
    std::ofstream(size_file_of_image(images(), digest(digit))) << size;
    fs::last_write_time(place, fs::file_time_type::clock::now() - unused_for);
  }
  bool is_there(char digit) const { return fs::exists(place_of_image(images(), digest(digit))); }

  void pull(const std::string& reference, char digit) {
    fs::create_directories(images() / "pulled");
    std::ofstream(images() / "pulled" / file_name_of(std::string_view(reference))) << digest(digit);
  }

  void run(char digit) {
    const model::InstanceKey key{model::ItemId{"web"}, model::SubjectId{"car"}, 0};
    fs::create_directories(machine_.state_dir / "runs");
    const RunDirectory directory(machine_.state_dir, key, {});
    ASSERT_TRUE(directory.create({.found = {key, {}, {}, "1"}, .runtime = {}, .boot = "b"}));
    const std::string rootfs = place_of_image(images(), digest(digit)) / "rootfs";
    ASSERT_TRUE(directory.write("config.json", "{\"root\": {\"path\": \"" + rootfs + "\"}}"));
  }

  std::string removed(const std::set<std::string>& wanted = {}) {
    std::string digits;
    for (const RemovedImage& image : remove_unused_images(machine_, wanted)) {
      digits += image.digest.back();
    }
    return digits;
  }

  MachineConfig machine_;
};

TEST_F(UnusedImages, TheLongestUnusedGoUntilTheRestMayStay) {
  put('a', 60, std::chrono::hours(3));
  put('b', 60, std::chrono::hours(1));
  put('c', 60, std::chrono::hours(2));
  EXPECT_EQ(removed(), "ac");
  EXPECT_FALSE(is_there('a') || is_there('c'));
  EXPECT_TRUE(is_there('b'));
  EXPECT_FALSE(fs::exists(size_file_of_image(images(), digest('a'))));
}

TEST_F(UnusedImages, WhatIsUsedOrWantedStaysWhateverTheLimits) {
  machine_.images.unused_max = Bytes(0);
  put('a', 60, std::chrono::hours(3));
  put('b', 60, std::chrono::hours(3));
  put('c', 60, std::chrono::hours(3));
  run('a');
  pull("docker://registry/web:2", 'b');
  pull("docker://registry/web:1", 'c');
  EXPECT_EQ(removed({"docker://registry/web:2", "docker://registry/web:3"}), "c");
  EXPECT_TRUE(is_there('a') && is_there('b'));
  EXPECT_EQ(std::distance(fs::directory_iterator(images() / "pulled"), {}), 1)
      << "what the tag of a removed image meant is forgotten";
}

TEST_F(UnusedImages, WhatWasUsedAMomentAgoMayBeUsedAgainInAMoment) {
  machine_.images.unused_max = Bytes(0);
  put('a', 60, std::chrono::hours(0));
  EXPECT_EQ(removed(), "");
  machine_.images.spared = Duration(0);
  EXPECT_EQ(removed(), "a");
}

TEST_F(UnusedImages, WhatIsInUseCountsAsUsedNow) {
  put('a', 60, std::chrono::hours(3));
  run('a');
  EXPECT_EQ(removed(), "");
  fs::remove_all(machine_.state_dir / "runs");
  machine_.images.unused_max = Bytes(0);
  EXPECT_EQ(removed(), "") << "it may have to be gone back to";
}

TEST_F(UnusedImages, WhatWasUsedWhileTheClockWasAheadGoesToo) {
  machine_.images.unused_max = Bytes(0);
  put('a', 60, std::chrono::hours(-1000));
  EXPECT_EQ(removed(), "");
  machine_.images.spared = Duration(0);
  EXPECT_EQ(removed(), "a");
}

TEST_F(UnusedImages, AllGoWhenTheFileSystemIsFull) {
  put('a', 1, std::chrono::hours(2));
  put('b', 1, std::chrono::hours(1));
  machine_.images.free_percent_min = 101;  // more than there can be
  EXPECT_EQ(removed(), "ab");
}

TEST_F(UnusedImages, WhatWasLeftInTheMiddleOfARemovalIsSwept) {
  const fs::path gone = images() / ".gone-sha256-x";
  fs::create_directories(gone / "rootfs");
  EXPECT_EQ(removed(), "");
  EXPECT_FALSE(fs::exists(gone));
}

TEST_F(UnusedImages, LayoutsAndOtherThingsAreLeftAlone) {
  machine_.images.unused_max = Bytes(0);
  fs::create_directories(images() / "sha256-layout");
  fs::create_directories(images() / "busybox");
  EXPECT_EQ(removed(), "");
  EXPECT_TRUE(fs::exists(images() / "sha256-layout") && fs::exists(images() / "busybox"));
}

TEST_F(UnusedImages, OneWhoseSizeNobodyKnowsIsCountedOnce) {
  put('a', 60, std::chrono::hours(2));
  std::ofstream(place_of_image(images(), digest('a')) / "rootfs" / "file") << std::string(200, 'x');
  fs::last_write_time(place_of_image(images(), digest('a')),
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::remove(size_file_of_image(images(), digest('a')));
  machine_.images.unused_max = Bytes(1000);
  EXPECT_EQ(removed(), "");
  EXPECT_GE(size_of_image(images(), digest('a')), Bytes(200));
  EXPECT_TRUE(fs::exists(size_file_of_image(images(), digest('a'))));
}

}  // namespace
}  // namespace berth::runtime
