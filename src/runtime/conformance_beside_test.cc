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

constexpr char kNothingBeside[] = "nothing can be run beside a machine";

TEST_P(RuntimeConformance, RunsAProgramBesideTheInstance) {
  if (GetParam().is_machine) GTEST_SKIP() << kNothingBeside;
  auto spec = script(kForEver);
  spec.item.env["COLOUR"] = "blue";
  start(spec);
  const ExecResult result = exec(
      spec, {.command = {"/bin/busybox", "sh", "-c", "cat; echo $COLOUR; echo wrong >&2; exit 3"}},
      "typed\n");
  EXPECT_EQ(result.output, "typed\nblue\n");
  EXPECT_EQ(result.error, "wrong\n");
  EXPECT_EQ(result.code, 3);
}

TEST_P(RuntimeConformance, WhoCannotRunProgramsBesideTheInstanceSaysSo) {
  if (!GetParam().is_machine) GTEST_SKIP() << "this one can";
  const auto spec = script(kForEver);
  start(spec);
  const auto session = runtime().exec(spec.key, {.command = {"/bin/true"}}, {});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Code::InvalidInput);
  EXPECT_THAT(session.error().message, HasSubstr("log"));
}

// runc sets the size when the program runs already, as if somebody had resized the window.
TEST_P(RuntimeConformance, AProgramBesideTheInstanceCanHaveATerminal) {
  if (GetParam().is_machine) GTEST_SKIP() << kNothingBeside;
  const auto spec = script(kForEver);
  start(spec);
  const std::string wait_for_size =
      "until [ \"$(stty size 2>/dev/null)\" = '33 99' ]; do sleep 0.05; done; echo sized";
  const ExecResult result =
      exec(spec, {.command = {"/bin/busybox", "sh", "-c", "test -t 0 && " + wait_for_size},
                  .terminal = true,
                  .rows = 33,
                  .columns = 99});
  EXPECT_THAT(result.output, HasSubstr("sized\r\n"));
  EXPECT_EQ(result.code, 0);
}

TEST_P(RuntimeConformance, NobodyCanRunAnythingBesideWhatDoesNotRun) {
  const auto session = runtime().exec(script("").key, {.command = {"/bin/true"}}, {});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Code::NotFound);
}

TEST_P(RuntimeConformance, ClosingASessionKillsItsProgram) {
  if (GetParam().is_machine) GTEST_SKIP() << kNothingBeside;
  const auto spec = script(kForEver);
  start(spec);
  const auto is_there = [&] {
    return exec(spec,
                {.command = {"/bin/busybox", "sh", "-c", "ps | grep 'sleep 98765' | grep -v grep"}})
               .code == 0;
  };
  auto session = runtime().exec(spec.key, {.command = {"/bin/busybox", "sleep", "98765"}}, {});
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_TRUE(eventually(is_there));
  session->reset();
  EXPECT_TRUE(eventually([&] { return !is_there(); }));
}

}  // namespace
}  // namespace berth::runtime
