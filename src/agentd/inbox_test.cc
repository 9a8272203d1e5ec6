#include "agentd/inbox.h"

#include <gtest/gtest.h>

namespace berth::agentd {
namespace {

TEST(Inbox, CommandsAboutPoolsComeInTheirOrderAndAreRefusedWhenTooManyWait) {
  Inbox inbox;
  std::uint64_t taken = 0;
  while (inbox.tell_pool_command({.number = taken + 1, .orders = {}})) ++taken;
  EXPECT_GE(taken, 64U);
  EXPECT_TRUE(inbox.tell_command({})) << "others are counted apart";
  const std::vector<agent::Event> events = inbox.take(Time{});
  ASSERT_EQ(events.size(), taken + 1);
  for (std::uint64_t i = 0; i < taken; ++i) {
    EXPECT_EQ(std::get<agent::PoolCommandReceived>(events[i]).command.number, i + 1);
  }
  EXPECT_TRUE(inbox.tell_pool_command({.number = taken + 1, .orders = {}}))
      << "there is room again";
}

}  // namespace
}  // namespace berth::agentd
