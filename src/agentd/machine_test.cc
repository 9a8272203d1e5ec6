#include "agentd/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "agentd/tag.h"
#include "network/names.h"
#include "runtime/files/run_directory.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;

TEST(Machine, MemoryIsReadAsTheKernelWritesIt) {
  const auto memory = parse_meminfo(
      "MemTotal:       16303892 kB\nMemFree:         1000000 kB\nMemAvailable:   12000000 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total, Bytes(16'303'892LL * 1024));
  EXPECT_EQ(memory->available, Bytes(12'000'000LL * 1024));
  EXPECT_FALSE(parse_meminfo("nonsense"));
}

TEST(Machine, IdleAndWaitingProcessorsAreNotBusy) {
  const auto busy = parse_stat("cpu  100 20 30 9000 500 1 2 3 0 0\ncpu0 1 2 3\n", 100);
  ASSERT_TRUE(busy);
  EXPECT_EQ(*busy, std::chrono::microseconds(1'560'000));
  EXPECT_FALSE(parse_stat("cpu  1 2", 100));
  EXPECT_FALSE(parse_stat("", 100));
}

TEST(Machine, TellsOfItself) {
  EXPECT_GE(processor_count(), 1);
  const auto memory = read_memory();
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_GT(memory->total, Bytes(1 << 20));
  EXPECT_GT(consumption_of_this_process().ram, Bytes(1 << 16));
  EXPECT_GT(file_system_of("/")->size, Bytes(1 << 20));
  EXPECT_EQ(file_system_of("/does/not/exist")->device, file_system_of("/")->device);
  EXPECT_TRUE(is_installed("sh"));
  EXPECT_FALSE(is_installed("no-such-program-at-all"));
}

TEST(Machine, BootIdsDiffer) {
  EXPECT_EQ(make_boot_id().size(), 32U);
  EXPECT_NE(make_boot_id(), make_boot_id());
}

class Tag : public ::testing::Test {
 protected:
  Tag() {
    std::string path = (fs::temp_directory_path() / "berth-tag-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = path;
    fs::create_directories(places_.state_dir = directory_ / "state");
    places_.run_dir = directory_ / "run";
  }
  ~Tag() override { fs::remove_all(directory_); }

  fs::path directory_;
  TagPlaces places_{.state_dir = {}, .node = "n1", .run_dir = {}};
};

TEST_F(Tag, IsMadeOnceAndKept) {
  EXPECT_EQ(find_tag(places_), "");
  const std::string tag = take_tag(places_);
  EXPECT_EQ(tag.size(), 8U);
  EXPECT_EQ(take_tag(places_), tag);
  EXPECT_EQ(find_tag(places_), tag);
}

TEST_F(Tag, DoesNotDependOnTheNamesOfNodesAndDirectories) {
  const std::string tag = take_tag(places_);
  places_.node = "other";
  fs::rename(places_.state_dir, directory_ / "moved");
  places_.state_dir = directory_ / "moved";
  EXPECT_EQ(take_tag(places_), tag);
}

TEST_F(Tag, OfAnotherAgentIsAnother) {
  TagPlaces other = places_;
  fs::create_directories(other.state_dir = directory_ / "other");
  EXPECT_NE(take_tag(places_), take_tag(other));
}

TEST_F(Tag, IsFoundAgainByTheDirectoryThatItNames) {
  const std::string tag = take_tag(places_);
  std::ofstream(tag_file(places_.state_dir)) << "torn";
  EXPECT_EQ(take_tag(places_), tag);
  fs::remove(tag_file(places_.state_dir));
  EXPECT_EQ(find_tag(places_), tag);
}

TEST_F(Tag, IsFoundAgainByWhatRuns) {
  const model::FoundRun found{{model::ItemId{"web"}, model::SubjectId{"car"}, 0}, {}, {}, "1"};
  const runtime::RunDirectory run(places_.state_dir, found.key, found.run);
  ASSERT_TRUE(run.create({.found = found, .runtime = {}, .boot = "", .tag = "0123abcd"}));
  EXPECT_EQ(take_tag(places_), "0123abcd");
}

TEST_F(Tag, IsThatOfAnEarlierReleaseIfItHasLeftAnything) {
  const std::string earlier = network::earlier_tag_of(places_.node, places_.state_dir);
  EXPECT_EQ(find_tag(places_), "");
  fs::create_directories(places_.run_dir / earlier);
  EXPECT_EQ(take_tag(places_), earlier);
}

TEST_F(Tag, OfACopyIsNew) {
  const std::string tag = take_tag(places_);
  TagPlaces copy = places_;
  copy.state_dir = directory_ / "copy";
  fs::copy(places_.state_dir, copy.state_dir);
  EXPECT_NE(take_tag(copy), tag);
  EXPECT_EQ(take_tag(places_), tag);
}

TEST_F(Tag, ThatCannotBeWrittenDownIsTheSameNextTimeNevertheless) {
  places_.state_dir = directory_ / "not-there";
  EXPECT_EQ(take_tag(places_), take_tag(places_));
}

}  // namespace
}  // namespace berth::agentd
