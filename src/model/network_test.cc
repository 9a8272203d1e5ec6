#include "model/network.h"

#include <gtest/gtest.h>

namespace berth::model {
namespace {

TEST(Ipv4, IsReadAsItIsWritten) {
  for (const char* text : {"0.0.0.0", "10.0.0.1", "192.168.7.255", "255.255.255.255"}) {
    ASSERT_TRUE(parse_ipv4(text)) << text;
    EXPECT_EQ(to_string(*parse_ipv4(text)), text);
  }
  EXPECT_EQ(parse_ipv4("10.0.0.1")->value, 0x0a000001u);
}

TEST(Ipv4, NothingElseIsAnAddress) {
  for (const char* text : {"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1..2.3",
                           "1.2.3.4 ", "-1.2.3.4", "1.2.3.", "a.b.c.d"}) {
    EXPECT_FALSE(parse_ipv4(text)) << text;
  }
}

TEST(Subnet, HasNoBitsBeyondItsPrefix) {
  EXPECT_EQ(to_string(*parse_subnet("10.1.0.0/16")), "10.1.0.0/16");
  EXPECT_TRUE(parse_subnet("0.0.0.0/0"));
  EXPECT_TRUE(parse_subnet("1.2.3.4/32"));
  for (const char* text : {"10.1.0.1/16", "10.1.0.0", "10.1.0.0/33", "10.1.0.0/", "1.0.0.0/0"}) {
    EXPECT_FALSE(parse_subnet(text)) << text;
  }
}

TEST(Subnet, KnowsWhatIsInIt) {
  const Subnet subnet = *parse_subnet("10.1.0.0/16");
  EXPECT_TRUE(contains(subnet, *parse_ipv4("10.1.255.255")));
  EXPECT_FALSE(contains(subnet, *parse_ipv4("10.2.0.0")));
  EXPECT_TRUE(contains(*parse_subnet("0.0.0.0/0"), *parse_ipv4("8.8.8.8")));
}

}  // namespace
}  // namespace berth::model
