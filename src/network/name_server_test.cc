#include "network/name_server.h"

#include <gtest/gtest.h>

namespace berth::network {
namespace {

model::Ipv4 address(const char* text) { return *model::parse_ipv4(text); }

TEST(HostsText, ANameOfSeveralAddressesStandsOnSeveralLines) {
  EXPECT_EQ(
      hosts_text({{address("10.1.0.2"), {"0.car.web", "web"}}, {address("10.1.0.3"), {"web"}}}),
      "10.1.0.2 0.car.web web\n10.1.0.3 web\n");
}

TEST(HostsText, WhatIsNoNameCannotAddALine) {
  EXPECT_EQ(hosts_text({{address("10.1.0.2"), {"web\n10.9.9.9 bank", "", "ok"}},
                        {address("10.1.0.3"), {}}}),
            "10.1.0.2 ok\n");
}

}  // namespace
}  // namespace berth::network
