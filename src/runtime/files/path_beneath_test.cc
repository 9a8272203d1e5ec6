#include "runtime/files/path_beneath.h"

#include <gtest/gtest.h>

#include <fstream>

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

class PathBeneath : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "beneath-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
    fs::create_directories(images() / "linux");
    std::ofstream(base_ / "secret") << "x";
    std::ofstream(images() / "linux" / "disk") << "x";
  }
  void TearDown() override { fs::remove_all(base_); }

  fs::path images() const { return base_ / "images"; }
  bool is_allowed(const std::string& named) const {
    return path_beneath(images(), named).has_value();
  }

  fs::path base_;
};

TEST_F(PathBeneath, IsWhatIsInTheDirectory) {
  EXPECT_EQ(*path_beneath(images(), "linux/disk"), images() / "linux" / "disk");
  EXPECT_EQ(*path_beneath(images(), (images() / "linux/disk").string()), images() / "linux/disk");
  EXPECT_EQ(*path_beneath(images(), "linux/../linux/disk"), images() / "linux/disk");
  EXPECT_TRUE(is_allowed("not/there")) << "that is another error";
}

TEST_F(PathBeneath, IsNothingElse) {
  EXPECT_FALSE(is_allowed("../secret"));
  EXPECT_FALSE(is_allowed("linux/../../secret"));
  EXPECT_FALSE(is_allowed((base_ / "secret").string()));
  EXPECT_FALSE(is_allowed("/dev/sda"));
  EXPECT_FALSE(is_allowed(""));
}

TEST_F(PathBeneath, IsNotWhereALinkLeadsOut) {
  fs::create_symlink("../secret", images() / "link");
  fs::create_directory_symlink(base_, images() / "out");
  fs::create_symlink("linux/disk", images() / "inside");
  EXPECT_FALSE(is_allowed("link"));
  EXPECT_FALSE(is_allowed("out/secret"));
  EXPECT_TRUE(is_allowed("inside"));
}

}  // namespace
}  // namespace berth::runtime
