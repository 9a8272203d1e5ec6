#include "runtime/container/image_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "runtime/files/instance_directories.h"
#include "runtime/supervision/command.h"
#include "runtime/supervision/interrupt.h"

namespace berth::runtime {
namespace {

// A registry with one image under any name: pulls of docker://slow/... take until they are let go.
class ImageCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "to unpack an image needs root";
    for (const char* program : {"umoci", "busybox"}) {
      if (find_program(program).empty()) GTEST_SKIP() << program << " is not installed";
    }
    std::string path = (std::filesystem::temp_directory_path() / "berth-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = path;
    const auto made = run_command(
        {BERTH_SOURCE_DIR "/tools/make_image.sh", (directory_ / "layout").string() + ":image"},
        2min);
    ASSERT_TRUE(made && made->code == 0);
    write_skopeo();
    cache_.emplace(ImageCache::Config{.directory = directory_ / "images",
                                      .layout_dir = directory_,
                                      .owner = "test",
                                      .interrupt = interrupt_.fd()});
  }

  void TearDown() override {
    if (!path_.empty()) ::setenv("PATH", path_.c_str(), 1);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  void write_skopeo() {
    std::filesystem::create_directory(directory_ / "bin");
    const auto program = directory_ / "bin" / "skopeo";
    std::ofstream(program) << "#!/bin/sh\ncd " << directory_.string() << "\n"
                           << "echo \"$3\" >> pulls\n"
                              "case $3 in docker://slow/*)\n"
                              "  while [ ! -e go ]; do sleep 0.02; done;;\n"
                              "esac\n"
                              "to=${4#oci:}\n"
                              "exec cp -r layout \"${to%:image}\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    path_ = ::getenv("PATH");
    ::setenv("PATH", ((directory_ / "bin").string() + ":" + path_).c_str(), 1);
  }

  void let_go() { std::ofstream(directory_ / "go") << ""; }

  std::size_t pulls() const {
    std::ifstream in(directory_ / "pulls");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }
  void wait_for_pulls(std::size_t count) const {
    while (pulls() < count) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  std::filesystem::path directory_;
  std::string path_;
  Interrupt interrupt_;
  std::optional<ImageCache> cache_;
};

TEST_F(ImageCacheTest, NobodyWaitsForThePullOfAnotherImage) {
  Started<UnpackedImage> slow;
  std::thread puller([&] { slow = cache_->get("docker://slow/image:1"); });
  wait_for_pulls(1);
  EXPECT_TRUE(cache_->get("docker://quick/image:1"));
  EXPECT_TRUE(cache_->find("docker://quick/image:1"));
  EXPECT_FALSE(cache_->find("docker://slow/image:1"));
  let_go();
  puller.join();
  EXPECT_TRUE(slow);
}

TEST_F(ImageCacheTest, WhoWantTheSameImageShareOnePull) {
  Started<UnpackedImage> one;
  Started<UnpackedImage> other;
  std::thread first([&] { one = cache_->get("docker://slow/image:1"); });
  wait_for_pulls(1);
  std::thread second([&] { other = cache_->get("docker://slow/image:1"); });
  let_go();
  first.join();
  second.join();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->rootfs, other->rootfs);
  EXPECT_EQ(pulls(), 1U);
}

TEST_F(ImageCacheTest, APullEndsWhenTheAgentDoes) {
  Started<UnpackedImage> pulled;
  std::thread puller([&] { pulled = cache_->get("docker://slow/image:1"); });
  wait_for_pulls(1);
  interrupt_.raise();
  puller.join();
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().reason, "ImagePullFailed");
}

TEST_F(ImageCacheTest, NoReferenceLeadsOutOfTheDirectoryOfImages) {
  const std::string elsewhere = directory_ / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  const ImageCache cache(
      {.directory = directory_ / "images", .layout_dir = elsewhere, .owner = "x"});
  EXPECT_FALSE(cache.digest_of("../layout:image"));
  EXPECT_FALSE(cache.digest_of((directory_ / "layout:image").string()));
  std::filesystem::create_symlink(directory_ / "layout", elsewhere + "/link");
  EXPECT_FALSE(cache.digest_of("link:image"));
  std::filesystem::rename(directory_ / "layout", elsewhere + "/layout");
  EXPECT_TRUE(cache.digest_of("layout:image"));
}

TEST_F(ImageCacheTest, WhatDiffersInItsTagOnlyIsPulledOnce) {
  const std::string digest = "@" + *cache_->digest_of("layout:image");
  std::thread first([&] { EXPECT_TRUE(cache_->get("docker://slow/one:1" + digest)); });
  wait_for_pulls(1);
  std::thread second([&] { EXPECT_TRUE(cache_->get("docker://slow/one:2" + digest)); });
  let_go();
  first.join();
  second.join();
  EXPECT_EQ(pulls(), 1U);
}

TEST_F(ImageCacheTest, TheSizeOfAnImageIsWrittenDownBesideIt) {
  ASSERT_TRUE(cache_->get("layout:image"));
  const auto digest = cache_->digest_of("layout:image");
  ASSERT_TRUE(digest);
  const auto images = directory_ / "images";
  EXPECT_TRUE(std::filesystem::exists(size_file_of_image(images, *digest)));
  EXPECT_GT(size_of_image(images, *digest), Bytes(1000));
}

}  // namespace
}  // namespace berth::runtime
