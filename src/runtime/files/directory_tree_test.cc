#include "runtime/files/directory_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

class DirectoryTree : public testing::Test {
 protected:
  DirectoryTree() {
    std::string pattern = (fs::temp_directory_path() / "berth-tree-XXXXXX").string();
    base_ = ::mkdtemp(pattern.data());
    fs::create_directory(source());
    fs::create_directory(target());
  }
  ~DirectoryTree() override {
    std::error_code ignored;
    fs::remove_all(base_, ignored);
  }

  fs::path source() const { return base_ / "source"; }
  fs::path target() const { return base_ / "target"; }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string read(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string packed(const TreeLimits& limits = {}) const {
    const auto result = pack_tree(source(), limits);
    return result && *result ? **result : "";
  }
  std::string refused(const std::string& text) const {
    const auto result = unpack_tree(text, target(), std::nullopt);
    return result ? "" : result.error().message;
  }
  bool is_target_empty() const { return fs::is_empty(target()); }

  fs::path base_;
};

TEST_F(DirectoryTree, IsRemovedWithAllThatIsInItAndNothingElse) {
  fs::create_directories(source() / "a" / "b");
  write(source() / "a" / "b" / "file", "x");
  write(target() / "file", "x");
  fs::create_symlink(target(), source() / "link");
  EXPECT_TRUE(remove_tree(source(), {}));
  EXPECT_FALSE(fs::exists(source()));
  EXPECT_TRUE(fs::exists(target() / "file"));
  EXPECT_TRUE(remove_tree(source(), {})) << "there is nothing";
  EXPECT_TRUE(remove_tree(target() / "file", {})) << "also a file";
}

TEST_F(DirectoryTree, IsLeftAloneByAnErasureThatWasToldToGiveUp) {
  write(source() / "file", "x");
  std::stop_source leaving;
  leaving.request_stop();
  EXPECT_FALSE(remove_tree(source(), leaving.get_token()));
  EXPECT_TRUE(fs::exists(source() / "file"));
}

TEST_F(DirectoryTree, ComesBackAsItWas) {
  fs::create_directories(source() / "a" / "b");
  write(source() / "a" / "b" / "file", std::string("one\0two\n", 8));
  write(source() / "empty", "");
  ::chmod((source() / "a" / "b" / "file").c_str(), 0640);
  ::chmod((source() / "a").c_str(), 0750);
  fs::create_symlink("/nowhere", source() / "link");
  ASSERT_TRUE(unpack_tree(packed(), target(), std::nullopt));
  EXPECT_EQ(read(target() / "a" / "b" / "file"), std::string("one\0two\n", 8));
  EXPECT_EQ(fs::status(target() / "a" / "b" / "file").permissions(), fs::perms(0640));
  EXPECT_EQ(fs::status(target() / "a").permissions(), fs::perms(0750));
  EXPECT_EQ(fs::read_symlink(target() / "link"), "/nowhere");
  EXPECT_TRUE(fs::is_empty(target() / "empty"));
}

TEST_F(DirectoryTree, PacksToTheSameBytesWhateverItsTimesAndOrder) {
  write(source() / "b", "2");
  write(source() / "a", "1");
  const std::string first = packed();
  fs::remove_all(source());
  fs::create_directory(source());
  write(source() / "a", "1");
  write(source() / "b", "2");
  fs::last_write_time(source() / "a", fs::file_time_type{});
  EXPECT_EQ(packed(), first);
  write(source() / "a", "3");
  EXPECT_NE(packed(), first);
}

TEST_F(DirectoryTree, ThatIsNotThereIsEmpty) {
  fs::remove_all(source());
  EXPECT_EQ(look_at_tree(source(), {}).entries, 0U);
  ASSERT_TRUE(unpack_tree(packed(), target(), std::nullopt));
  EXPECT_TRUE(is_target_empty());
}

TEST_F(DirectoryTree, BeyondItsLimitsIsNotPacked) {
  write(source() / "file", std::string(1000, 'x'));
  EXPECT_EQ(packed({.bytes = 1000}), "");
  EXPECT_NE(packed({.bytes = 1100}), "");
  write(source() / "second", "");
  EXPECT_EQ(packed({.entries = 1}), "");
  EXPECT_FALSE(look_at_tree(source(), {.entries = 1}).complete);
}

TEST_F(DirectoryTree, IsCountedWithoutFollowingLinks) {
  write(source() / "file", "12345");
  fs::create_symlink("/usr", source() / "link");
  const TreeFigures figures = look_at_tree(source(), {});
  EXPECT_EQ(figures.size, Bytes(5));
  EXPECT_EQ(figures.entries, 2U);
}

TEST_F(DirectoryTree, HasAnotherFingerprintWhenAFileChanges) {
  write(source() / "file", "1");
  const TreeFigures before = look_at_tree(source(), {});
  EXPECT_EQ(look_at_tree(source(), {}), before);
  write(source() / "file", "22");
  EXPECT_NE(look_at_tree(source(), {}).fingerprint, before.fingerprint);
}

TEST_F(DirectoryTree, LeavesOutWhatIsNoFileDirectoryOrLink) {
  ASSERT_EQ(::mkfifo((source() / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(packed().find("pipe"), std::string::npos);
}

TEST_F(DirectoryTree, NeverMakesAnythingOutsideOfItself) {
  const std::string magic = "berth state 1\n";
  for (const std::string path : {"../out", "/tmp/out", "a/../../out", ".", "..", "", "a//b"}) {
    const std::string text = magic + "f 644 " + std::to_string(path.size()) + " 1\n" + path + "x";
    EXPECT_NE(refused(text), "") << path;
  }
  EXPECT_TRUE(is_target_empty());
  EXPECT_FALSE(fs::exists(base_ / "out"));
}

TEST_F(DirectoryTree, DoesNotGoThroughALinkThatItHasMade) {
  const std::string outside = (base_ / "outside").string();
  fs::create_directory(outside);
  const std::string text = "berth state 1\nl 777 1 " + std::to_string(outside.size()) + "\na" +
                           outside + "f 644 3 1\na/bx";
  EXPECT_EQ(refused(text), "the state is damaged");
  EXPECT_TRUE(fs::is_empty(outside));
}

TEST_F(DirectoryTree, RefusesEveryTextThatWasCutOff) {
  write(source() / "file", "content");
  const std::string whole = packed();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    if (length == std::string("berth state 1\n").size()) continue;  // an empty one
    EXPECT_NE(refused(whole.substr(0, length)), "") << length;
  }
}

TEST_F(DirectoryTree, RefusesTheSameNameTwice) {
  EXPECT_NE(refused("berth state 1\nf 644 1 1\naxf 644 1 1\nay"), "");
}

}  // namespace
}  // namespace berth::runtime
