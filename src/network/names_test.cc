#include "network/names.h"

#include <gtest/gtest.h>

#include <set>

namespace berth::network {
namespace {

TEST(NetworkNames, AgentsOnOneMachineHaveDifferentTags) {
  const std::set<std::string> tags{earlier_tag_of("n1", "/var/lib/a"),
                                   earlier_tag_of("n2", "/var/lib/a"),
                                   earlier_tag_of("n1", "/var/lib/b")};
  EXPECT_EQ(tags.size(), 3u);
}

TEST(NetworkNames, TheTagIsTheSameInEachLife) {
  EXPECT_EQ(earlier_tag_of("gateway", "/var/lib/berth-agent"),
            earlier_tag_of("gateway", "/var/lib/./berth-agent"));
  EXPECT_EQ(earlier_tag_of("gateway", "/var/lib/berth-agent"), "2289ec2e");
}

TEST(NetworkNames, DevicesFitIntoWhatTheKernelTakes) {
  const std::string name = instance_namespace(
      "0123abcd", {model::ItemId(std::string(60, 'i')), model::SubjectId("vehicle"), 4'000'000});
  EXPECT_LE(instance_device(name).size(), 15u);
  EXPECT_LE(bridge_device(16'777'215).size(), 15u);
  EXPECT_LE(tunnel_device(16'777'215).size(), 15u);
  EXPECT_LE(host_device("0123abcd").size(), 15u);
}

TEST(NetworkNames, NamespacesHaveNamesThatRuncTakes) {
  const model::InstanceKey key{model::ItemId("web"), model::SubjectId("car"), 7};
  EXPECT_EQ(instance_namespace("0123abcd", key), "berth-0123abcd-web+car+7");
}

TEST(NetworkNames, InstancesHaveDevicesOfTheirOwn) {
  std::set<std::string> devices;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const model::InstanceKey key{model::ItemId("web"), model::SubjectId("car"), i};
    devices.insert(instance_device(instance_namespace("0123abcd", key)));
  }
  EXPECT_EQ(devices.size(), 1000u);
}

TEST(NetworkNames, AnInstanceKeepsItsHardwareAddressWhereverItRuns) {
  const MacAddress expected{0x02, 0xbe, 10, 128, 0, 7};
  EXPECT_EQ(mac_of_instance(*model::parse_ipv4("10.128.0.7")), expected);
  EXPECT_EQ(to_string(expected), "02:be:0a:80:00:07");
  EXPECT_NE(mac_of_bridge(*model::parse_ipv4("10.128.0.7")), expected);
}

}  // namespace
}  // namespace berth::network
