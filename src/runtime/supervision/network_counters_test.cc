#include "runtime/supervision/network_counters.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace berth::runtime {
namespace {

TEST(NetworkCounters, AreReadAsTheKernelWritesThem) {
  const auto all = parse_network_counters(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
      "    lo:     100       1    0    0    0     0          0         0      200       1    0\n"
      "  eth0: 1234567     100    0    0    0     0          0         0  7654321     200    0\n"
      "veth12:7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n");
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(all.at("eth0"), (NetworkCounters{1'234'567, 7'654'321}));
  EXPECT_EQ(all.at("veth12"), (NetworkCounters{7, 9}));
}

TEST(NetworkCounters, OfNonsenseAreNothing) {
  EXPECT_TRUE(parse_network_counters("").empty());
  EXPECT_EQ(parse_network_counters("x:").at("x"), NetworkCounters{});
}

TEST(NetworkCounters, OfAProcessThatSharesOurNetworkAreNotKnown) {
  EXPECT_EQ(count_network_of(::getpid()), std::nullopt);
  EXPECT_EQ(count_network_of(-1), std::nullopt);
}

}  // namespace
}  // namespace berth::runtime
