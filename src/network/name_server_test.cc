#include "network/name_server.h"

#include <gtest/gtest.h>

namespace berth::network {
namespace {

model::Ipv4 ip(const char* text) { return *model::parse_ipv4(text); }

TEST(HostsText, ANameOfSeveralAddressesStandsOnSeveralLines) {
  EXPECT_EQ(hosts_text({{ip("10.1.0.2"), {"0.car.web", "web"}}, {ip("10.1.0.3"), {"web"}}}),
            "10.1.0.2 0.car.web web\n10.1.0.3 web\n");
}

TEST(HostsText, WhatIsNoNameCannotAddALine) {
  EXPECT_EQ(hosts_text({{ip("10.1.0.2"), {"web\n10.9.9.9 bank", "", "ok"}}, {ip("10.1.0.3"), {}}}),
            "10.1.0.2 ok\n");
}

}  // namespace
}  // namespace berth::network
