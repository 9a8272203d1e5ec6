#include "shell/signals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "shell/clock.h"
#include "shell/descriptor_limit.h"
#include "shell/notify.h"

namespace berth::shell {
namespace {

TEST(Signals, ATermIsAValue) {
  auto signals = Signals::block();
  ASSERT_TRUE(signals) << signals.error().message;
  EXPECT_EQ(signals->wait(now()), std::nullopt);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals->wait(now() + 60s), SIGTERM);
}

TEST(DescriptorLimit, IsRaisedAsFarAsItMayBeAndTheUsualOneIsGiven) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptor_limit().before, 100u);
  rlimit raised{};
  getrlimit(RLIMIT_NOFILE, &raised);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(Notify, SpeaksToTheSocketThatSystemdNames) {
  const int box = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "berth-notify-test-" + std::to_string(getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(box, reinterpret_cast<const sockaddr*>(&address), length), 0);
  setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  notify_ready();
  unsetenv("NOTIFY_SOCKET");
  char text[64] = {};
  ASSERT_EQ(recv(box, text, sizeof text, 0), 7);
  EXPECT_STREQ(text, "READY=1");
  close(box);
}

TEST(Notify, TheWatchdogIsFedTwiceAsOftenAsItAsks) {
  EXPECT_EQ(watchdog_interval(), std::nullopt);
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(watchdog_interval(), Duration(15s));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(watchdog_interval(), std::nullopt);
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

}  // namespace
}  // namespace berth::shell
