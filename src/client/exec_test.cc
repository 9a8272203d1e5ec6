#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "client/client.h"
#include "client/testing/exec_server.h"

namespace berth::client {
namespace {

using testing::ExecServer;

struct Ran {
  Result<int> code = 0;
  std::string out;
  std::string err;
};

Ran run_against(const ExecServer& server, int input = -1) {
  Ran ran;
  ExecSession session;
  session.first.set_instance("web/default/0");
  session.first.add_command("cat");
  session.input = input;
  session.on_output = [&](const v1::Output& output) {
    (output.from_stderr() ? ran.err : ran.out) += output.data();
  };
  ran.code =
      Client(UnixSocket{server.socket()}).exec("/v1/instances/web%2Fdefault%2F0/exec", session);
  return ran;
}

// What it echoes is what it got: the first message, then the input, then its end.
TEST(Exec, PassesInputOnAndGivesOutputAndExitCode) {
  ExecServer server;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "hello", 5), 5);
  ::close(ends[1]);
  const Ran ran = run_against(server, ends[0]);
  ::close(ends[0]);
  ASSERT_TRUE(ran.code) << ran.code.error().message;
  EXPECT_EQ(*ran.code, 7);
  EXPECT_EQ(ran.out, "hello");
  EXPECT_EQ(ran.err, "web/default/0 cat");
}

TEST(Exec, SaysAtOnceThatThereIsNoInput) {
  ExecServer server;
  const Ran ran = run_against(server);
  ASSERT_TRUE(ran.code) << ran.code.error().message;
  EXPECT_EQ(*ran.code, 7);
  EXPECT_EQ(ran.out, "");
}

TEST(Exec, ReadsInputThatCannotBeWaitedFor) {
  ExecServer server;
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const std::string text(100'000, 'x');
  std::fwrite(text.data(), 1, text.size(), file);
  std::rewind(file);
  const Ran ran = run_against(server, fileno(file));
  std::fclose(file);
  ASSERT_TRUE(ran.code) << ran.code.error().message;
  EXPECT_EQ(ran.out, text);
}

TEST(Exec, TellsThatTheConnectionBroke) {
  ExecServer server({.breaks = true});
  const Ran ran = run_against(server);
  ASSERT_FALSE(ran.code);
  EXPECT_THAT(ran.code.error().message, ::testing::HasSubstr("broke before the command ended"));
}

TEST(Exec, GivesTheErrorOfAServerThatDeclines) {
  ExecServer server({.declines = true});
  const Ran ran = run_against(server);
  ASSERT_FALSE(ran.code);
  EXPECT_EQ(ran.code.error(), (Error{Code::NotFound, "there is no instance"}));
}

}  // namespace
}  // namespace berth::client
