#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "runtime/files/logs.h"
#include "runtime/shim/children.h"
#include "runtime/shim/files.h"
#include "runtime/shim/launch.h"
#include "runtime/shim/log_writer.h"
#include "runtime/shim/oci.h"
#include "runtime/shim/spawn.h"

namespace berth::runtime::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Launch, IsReadAsItWasWritten) {
  const Launch launch{.argv = {"a", "", "b=c\n"},
                      .env = {"X=1=2", "EMPTY="},
                      .directory = "/d",
                      .user = User{41'000, 42'000},
                      .open_files = 10,
                      .data_bytes = 1ULL << 40,
                      .network_namespace = "/run/netns/n",
                      .cgroup_files = {"/c/cgroup.procs", "/d/cgroup.procs"},
                      .is_machine = true,
                      .oci_runtime = "/usr/sbin/runc",
                      .oci_root = "/root",
                      .container = "c",
                      .bundle = "/b",
                      .oom_files = {"/x", "/y"},
                      .log_directory = "/logs",
                      .log_bytes = 7,
                      .log_files = 3};
  const auto read = decode_launch(encode(launch));
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), encode(launch));
  EXPECT_EQ(read->argv, launch.argv);
  EXPECT_EQ(read->user->gid, 42'000U);
  EXPECT_TRUE(read->is_container());
  EXPECT_EQ(read->cgroup_files, launch.cgroup_files);
  EXPECT_TRUE(read->is_machine);
}

TEST(Launch, APartOfItIsNone) {
  const std::string whole = encode(Launch{.argv = {"program"}, .log_files = 1});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_launch(whole.substr(0, length))) << length;
  }
  EXPECT_FALSE(decode_launch(whole + "x"));
  EXPECT_FALSE(decode_launch(std::string("uid=4294967296\0complete=1\0", 26)));
  EXPECT_FALSE(decode_launch(std::string("what=1\0complete=1\0", 18)));
}

TEST(Ending, IsReadAsItWasWritten) {
  const auto ending = decode_ending(encode(Ending{137, "OutOfMemory", "two\nlines"}));
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->code, 137);
  EXPECT_EQ(ending->reason, "OutOfMemory");
  EXPECT_EQ(ending->message, "two\nlines");
  EXPECT_FALSE(decode_ending(""));
  EXPECT_FALSE(decode_ending("x\n\n"));
}

TEST(Oci, TheSentenceIsWhatPeopleRead) {
  EXPECT_EQ(sentence_of("warning\ntime=\"now\" level=error msg=\"no \\\"x\\\" here\"\n"),
            "no \"x\" here");
  EXPECT_EQ(sentence_of("plain text\n"), "plain text");
  EXPECT_EQ(sentence_of(""), "");
}

TEST(Spawn, SaysWhatFailed) {
  EXPECT_THAT(spawn({.argv = {"/no/such"}}).error, HasSubstr("/no/such: No such file"));
  EXPECT_THAT(spawn({.argv = {"/bin/true"}, .directory = "/no/dir"}).error, HasSubstr("/no/dir"));
  EXPECT_FALSE(spawn({}).is_running());
}

TEST(Spawn, GivesTheUsualLimitOfDescriptorsBack) {
  give_children_open_files(77);
  auto output = make_pipe();
  const Spawned child = spawn({.argv = {"/bin/sh", "-c", "ulimit -n"},
                               .env = own_environment(),
                               .output = output->write.get()});
  give_children_open_files(0);
  ASSERT_TRUE(child.is_running()) << child.error;
  output->write.reset();
  EXPECT_EQ(read_what_is_there(output->read.get()), "77\n");
  ::waitpid(child.pid, nullptr, 0);
}

class LogsTest : public testing::Test {
 protected:
  LogsTest() {
    std::string path = (std::filesystem::temp_directory_path() / "berth-logs-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  ~LogsTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  LogWriter writer(std::uint64_t bytes = 1 << 20, std::uint32_t files = 3) const {
    return LogWriter(directory_.string(), bytes, files);
  }
  std::vector<std::string> last(std::size_t lines) const {
    auto reader = LogReader::open(directory_, lines);
    return texts(reader->read(Duration{}));
  }
  static std::vector<std::string> texts(const std::vector<LogLine>& lines) {
    std::vector<std::string> found;
    for (const LogLine& line : lines) found.push_back(line.text);
    return found;
  }

  std::filesystem::path directory_;
};

TEST_F(LogsTest, LinesComeWholeHoweverTheyAreWritten) {
  LogWriter log = writer();
  log.feed(Stream::Output, "fir");
  log.feed(Stream::Error, "oth");
  log.feed(Stream::Output, "st\n\nthird");
  log.feed(Stream::Error, "er\n");
  log.finish(Stream::Output);
  EXPECT_THAT(last(10), ElementsAre("first", "", "other", "third"));
}

TEST_F(LogsTest, ALongLineIsKeptInParts) {
  LogWriter log = writer();
  log.feed(Stream::Output, std::string(LogWriter::kLineBytesMax + 10, 'x') + "\nnext\n");
  auto reader = LogReader::open(directory_, 10);
  const auto lines = reader->read(Duration{});
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_TRUE(lines[0].is_partial);
  EXPECT_EQ(lines[0].text.size(), LogWriter::kLineBytesMax);
  EXPECT_FALSE(lines[1].is_partial);
  EXPECT_EQ(lines[1].text, std::string(10, 'x'));
  EXPECT_EQ(lines[2].text, "next");
}

TEST_F(LogsTest, OldOutputMakesRoomForNew) {
  LogWriter log = writer(1000, 3);
  for (int i = 0; i < 100; ++i) log.feed(Stream::Output, "line " + std::to_string(i) + "\n");
  const auto lines = last(1000);
  EXPECT_LT(lines.size(), 70U);
  EXPECT_GT(lines.size(), 20U);
  EXPECT_EQ(lines.back(), "line 99");
  EXPECT_THAT(last(2), ElementsAre("line 98", "line 99"));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_LE(entry.file_size(), 1000U);
    ++files;
  }
  EXPECT_EQ(files, 3U);
}

TEST_F(LogsTest, TwoRunsWriteToOneLog) {
  LogWriter one = writer(500, 100);
  LogWriter two = writer(500, 100);
  for (int i = 0; i < 50; ++i) {
    one.feed(Stream::Output, "one\n");
    two.feed(Stream::Output, "two\n");
  }
  const auto lines = last(1000);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "one"), 50);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "two"), 50);
}

TEST_F(LogsTest, FollowingMissesNothingAcrossRotations) {
  LogWriter log = writer(400, 50);
  auto reader = LogReader::open(directory_, 10);
  std::vector<std::string> heard;
  std::vector<std::string> said;
  for (int i = 0; i < 60; ++i) {
    said.push_back("line " + std::to_string(i));
    log.feed(Stream::Error, said.back() + "\n");
    if (i % 7 != 0) continue;
    for (std::string& text : texts(reader->read(Duration{}))) heard.push_back(std::move(text));
  }
  for (std::string& text : texts(reader->read(Duration{}))) heard.push_back(std::move(text));
  EXPECT_EQ(heard, said);
}

TEST_F(LogsTest, ATailOfAnyLengthBeginsWhereItShould) {
  LogWriter log = writer(400, 50);
  std::vector<std::string> said;
  for (int i = 0; i < 60; ++i) {
    said.push_back("line " + std::to_string(i));
    log.feed(Stream::Output, said.back() + "\n");
  }
  for (std::size_t lines = 1; lines <= said.size(); ++lines) {
    EXPECT_EQ(last(lines), std::vector(said.end() - static_cast<long>(lines), said.end()));
  }
  EXPECT_EQ(last(61), said);
  EXPECT_EQ(last(LogReader::kAllLines), said);
}

TEST_F(LogsTest, ALongLogIsGivenInBatches) {
  LogWriter log = writer(10 << 20, 2);
  const std::string line(1000, 'x');
  for (int i = 0; i < 5000; ++i) log.feed(Stream::Output, line + "\n");
  auto reader = LogReader::open(directory_, LogReader::kAllLines);
  std::size_t count = 0;
  for (auto lines = reader->read(Duration{}); !lines.empty(); lines = reader->read(Duration{})) {
    EXPECT_LT(lines.size(), 500U);
    count += lines.size();
  }
  EXPECT_EQ(count, 5000U);
}

TEST_F(LogsTest, AReaderWhoWasTooSlowIsToldThatSomethingIsMissing) {
  LogWriter log = writer(400, 2);
  log.feed(Stream::Output, "first\n");
  auto reader = LogReader::open(directory_, 10);
  ASSERT_THAT(texts(reader->read(Duration{})), ElementsAre("first"));
  for (int i = 0; i < 60; ++i) log.feed(Stream::Output, "line " + std::to_string(i) + "\n");
  const auto lines = texts(reader->read(Duration{}));
  const auto missing = std::find_if(lines.begin(), lines.end(), [](const std::string& text) {
    return text.find("missing here") != std::string::npos;
  });
  ASSERT_NE(missing, lines.end());
  EXPECT_NE(missing + 1, lines.end());
  EXPECT_EQ(lines.back(), "line 59");
}

TEST_F(LogsTest, ThereMayBeNoOutputYet) {
  auto reader = LogReader::open(directory_ / "later", 10);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->read(Duration{}).empty());
  std::filesystem::create_directory(directory_ / "later");
  LogWriter log((directory_ / "later").string(), 1000, 2);
  log.feed(Stream::Output, "now\n");
  EXPECT_THAT(texts(reader->read(10s)), ElementsAre("now"));
}

TEST_F(LogsTest, WhatIsNoLineOfOursIsLeftOut) {
  std::ofstream(directory_ / "current") << "garbage\n2026-01-01T00:00:00.000000Z stdout F ours\n\n";
  EXPECT_THAT(last(10), ElementsAre("ours"));
}

TEST_F(LogsTest, ALogThatCannotBeOpenedIsClosed) {
  EXPECT_FALSE(LogWriter("/no/such/directory", 1, 1).is_open());
}

}  // namespace
}  // namespace berth::runtime::shim
