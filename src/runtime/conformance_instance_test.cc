#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "runtime/conformance.h"
#include "runtime/files/logs.h"
#include "runtime/files/run_directory.h"

namespace berth::runtime {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Its users and groups, as the kernel says them.
std::vector<std::string> identity_of_process(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::vector<std::string> lines;
  for (std::string line; std::getline(status, line);) {
    for (const char* name : {"Uid:", "Gid:", "Groups:"}) {
      if (line.starts_with(name)) lines.push_back(line);
    }
  }
  return lines;
}

TEST_P(RuntimeConformance, AnInstanceKnowsWhoItIsAndHasItsPlaces) {
  auto spec = storing_script(
      "echo $BERTH_ITEM $BERTH_SUBJECT $BERTH_INSTANCE $BERTH_NODE $COLOUR; "
      "echo kept > $BERTH_STORAGE/file && cat $BERTH_STORAGE/file; touch /tmp/$BERTH_NODE.x && rm "
      "/tmp/$BERTH_NODE.x && echo tmp");
  spec.item.env["COLOUR"] = "deep red";
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  EXPECT_THAT(output(spec),
              ElementsAre("O:item subject 0 " + config_.agent_id + " deep red", "O:kept", "O:tmp"));
}

TEST_P(RuntimeConformance, StorageIsKeptOverTheRunsOfAnInstance) {
  const auto spec = storing_script("cat $BERTH_STORAGE/file; echo kept > $BERTH_STORAGE/file");
  start(spec, 0);
  EXPECT_EQ(wait_for_exit(spec, 0), 0);
  start(spec, 1);
  EXPECT_EQ(wait_for_exit(spec, 1), 0);
  EXPECT_THAT(output(spec), Contains("O:kept"));
}

TEST_P(RuntimeConformance, AnInstanceHasAPlaceForItsState) {
  const auto spec = script("echo state > $BERTH_STATE/file && cat $BERTH_STATE/file");
  if (GetParam().is_machine) GTEST_SKIP() << "a disk cannot be copied while it is written to";
  start(spec);
  EXPECT_EQ(wait_for_exit(spec), 0);
  EXPECT_THAT(output(spec), ElementsAre("O:state"));
}

// What it sees of itself is said by the machine that it runs on.
TEST_P(RuntimeConformance, RunsAsTheUserOfTheInstance) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can run instances as somebody else";
  auto spec = storing_script("echo ready; touch $BERTH_STORAGE/mine && echo mine; " + until_go());
  spec.uid = 41'000;
  spec.gid = 42'000;
  start(spec);
  wait_for_output(spec, "O:mine");
  const auto program = RunDirectory(run_directory(spec)).pid(shim::kPidFile);
  ASSERT_TRUE(program);
  EXPECT_THAT(identity_of_process(*program),
              ElementsAre("Uid:\t41000\t41000\t41000\t41000", "Gid:\t42000\t42000\t42000\t42000",
                          testing::AnyOf("Groups:\t42000 ", "Groups:\t ")));
  runtime().stop(spec.key, run(0), 0s);
  wait_for_exit(spec);
}

TEST_P(RuntimeConformance, MeasuresWhatItUses) {
  const auto spec = script("echo ready; while :; do :; done");
  start(spec);
  EXPECT_TRUE(eventually([&] { return cpu_time(spec) > std::chrono::milliseconds(50); }));
  EXPECT_GT(runtime().measure().at(spec.key).ram, Bytes(10'000));
  runtime().stop(spec.key, run(0), 0s);
  wait_for_exit(spec);
  EXPECT_TRUE(eventually([&] { return runtime().measure().empty(); }));
}

TEST_P(RuntimeConformance, APausedInstanceUsesNoProcessorUntilItIsResumed) {
  const auto spec = script("while :; do :; done");
  start(spec);
  ASSERT_TRUE(eventually([&] { return cpu_time(spec) > std::chrono::milliseconds(20); }));
  const auto paused = runtime().pause(spec.key);
  ASSERT_TRUE(paused) << paused.error().message;
  const auto before = cpu_time(spec).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // that nothing happens takes time
  EXPECT_LE(cpu_time(spec).value(), before + std::chrono::milliseconds(20));
  ASSERT_TRUE(runtime().resume(spec.key));
  EXPECT_TRUE(eventually([&] { return cpu_time(spec) > before + std::chrono::milliseconds(50); }));
}

TEST_P(RuntimeConformance, WhatHasLeftTheSessionOfAPausedInstanceStandsStillToo) {
  if (GetParam().is_machine) GTEST_SKIP() << "a machine stands still as a whole";
  const auto spec = script("setsid sh -c 'while :; do :; done' & " + kForEver);
  start(spec);
  ASSERT_TRUE(eventually([&] { return cpu_time(spec) > std::chrono::milliseconds(20); }));
  ASSERT_TRUE(runtime().pause(spec.key));
  const auto before = cpu_time(spec).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // that nothing happens takes time
  EXPECT_LE(cpu_time(spec).value(), before + std::chrono::milliseconds(20));
  ASSERT_TRUE(runtime().resume(spec.key));
  EXPECT_TRUE(eventually([&] { return cpu_time(spec) > before + std::chrono::milliseconds(50); }));
}

// Who cannot know whether it was done asks again.
TEST_P(RuntimeConformance, PausingAndResumingTwiceDoesNoHarm) {
  const auto spec = script("while :; do :; done");
  start(spec);
  for (int i = 0; i < 2; ++i) {
    const auto resumed = runtime().resume(spec.key);
    EXPECT_TRUE(resumed) << resumed.error().message;
  }
  for (int i = 0; i < 2; ++i) {
    const auto paused = runtime().pause(spec.key);
    ASSERT_TRUE(paused) << paused.error().message;
  }
  const auto before = cpu_time(spec).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // that nothing happens takes time
  EXPECT_LE(cpu_time(spec).value(), before + std::chrono::milliseconds(20));
  for (int i = 0; i < 2; ++i) {
    const auto resumed = runtime().resume(spec.key);
    ASSERT_TRUE(resumed) << resumed.error().message;
  }
  EXPECT_TRUE(eventually([&] { return cpu_time(spec) > before + std::chrono::milliseconds(50); }));
}

TEST_P(RuntimeConformance, APausedInstanceCanBeStopped) {
  const auto polite = script("trap 'exit 9' TERM; " + kForEver);
  start(polite);
  wait_for_output(polite, "O:ready");
  ASSERT_TRUE(runtime().pause(polite.key));
  runtime().stop(polite.key, run(0), 60s);
  EXPECT_EQ(wait_for_exit(polite), 9);
}

TEST_P(RuntimeConformance, PausingWhatDoesNotRunIsAnError) {
  EXPECT_EQ(runtime().pause(script("").key).error().code, Code::NotFound);
  EXPECT_EQ(runtime().resume(script("").key).error().code, Code::NotFound);
}

}  // namespace
}  // namespace berth::runtime
