#include "placement/asked.h"

#include <gtest/gtest.h>

#include "placement/testing.h"

namespace berth::placement {
namespace {

const model::Usage kCapacity{Dmips{1010}, Bytes{2000}};

Dmips cpu_asked(const ItemBuilder& item, const model::NodeSettings& settings = {}) {
  return asked_of(item.build(), kCapacity, settings).cpu;
}

model::ResourceSpec cpu_quota(std::int64_t cpu) { return {Dmips{cpu}, {}, {}, {}}; }

TEST(Asked, ARequestIsCutToTheQuota) {
  EXPECT_EQ(cpu_asked(an_item("a").asking_cpu(500).with_quotas(cpu_quota(300))), Dmips{300});
  EXPECT_EQ(cpu_asked(an_item("a").asking_cpu(200).with_quotas(cpu_quota(300))), Dmips{200});
  EXPECT_EQ(cpu_asked(an_item("a").asking_cpu(200)), Dmips{200});
}

TEST(Asked, AQuotaOfZeroIsAQuota) {
  model::NodeSettings settings;
  settings.default_request.cpu = 50;
  EXPECT_EQ(cpu_asked(an_item("a").asking_cpu(500).with_quotas(cpu_quota(0))), Dmips{0});
  EXPECT_EQ(cpu_asked(an_item("a").with_quotas(cpu_quota(0)), settings), Dmips{0});
}

TEST(Asked, AShareOfTheQuotaIsRoundedHalfUp) {
  model::NodeSettings settings;
  EXPECT_EQ(cpu_asked(an_item("a").with_quotas(cpu_quota(301))), Dmips{151});
  settings.ratios.cpu = 33;
  EXPECT_EQ(cpu_asked(an_item("a").with_quotas(cpu_quota(301)), settings), Dmips{99});
  settings.ratios.cpu = 0;
  EXPECT_EQ(cpu_asked(an_item("a").with_quotas(cpu_quota(301)), settings), Dmips{0});
}

TEST(Asked, ARatioIsAtMostAHundredPercent) {
  model::NodeSettings settings;
  settings.ratios.cpu = 250;
  EXPECT_EQ(cpu_asked(an_item("a").with_quotas(cpu_quota(300)), settings), Dmips{300});
}

TEST(Asked, EachResourceHasItsOwnRatio) {
  model::NodeSettings settings;
  settings.ratios = {10, 20, 30, 40};
  const ItemBuilder item =
      an_item("a").with_quotas({Dmips{100}, Bytes{100}, Bytes{100}, Bytes{100}});
  EXPECT_EQ(asked_of(item.build(), kCapacity, settings),
            (Amounts{Dmips{10}, Bytes{20}, Bytes{30}, Bytes{40}}));
}

TEST(Asked, WithoutRequestAndQuotaAShareOfTheNode) {
  model::NodeSettings settings;
  settings.default_request = {5, 7};
  EXPECT_EQ(asked_of(an_item("a").build(), kCapacity, settings),
            (Amounts{Dmips{51}, Bytes{140}, Bytes{0}, Bytes{0}}));
  EXPECT_EQ(asked_of(an_item("a").build(), kCapacity, {}), Amounts{});
}

TEST(Asked, WhoSkipsLimitsAsksForNothingEver) {
  model::NodeSettings settings;
  settings.default_request = {5, 7};
  const ItemBuilder item = an_item("a")
                               .asking_cpu(500)
                               .with_quotas(cpu_quota(900))
                               .sharing({"camera"})
                               .skipping_limits();
  EXPECT_EQ(asked_of(item.build(), kCapacity, settings), Amounts{});
  EXPECT_EQ(raised_to_measured({}, item.build(), {Dmips{700}, Bytes{700}}), Amounts{});
  EXPECT_TRUE(taken_resources(item.build()).empty());
}

TEST(Asked, ComponentsAskForNothingButTheirResources) {
  model::NodeSettings settings;
  settings.default_request = {5, 7};
  const ItemBuilder item =
      an_item("a").of_type(model::ItemType::Component).asking_cpu(500).sharing({"camera"});
  EXPECT_EQ(asked_of(item.build(), kCapacity, settings), Amounts{});
  EXPECT_EQ(raised_to_measured({}, item.build(), {Dmips{700}, Bytes{700}}), Amounts{});
  EXPECT_EQ(taken_resources(item.build()), std::set<std::string>{"camera"});
}

TEST(Asked, AResourceNamedTwiceIsTakenOnce) {
  EXPECT_EQ(taken_resources(an_item("a").sharing({"camera", "camera"}).build()),
            std::set<std::string>{"camera"});
}

TEST(Asked, MeasuredAmountsOnlyRaise) {
  const Amounts asked{Dmips{100}, Bytes{100}, Bytes{1}, Bytes{2}};
  EXPECT_EQ(raised_to_measured(asked, an_item("a").build(), {Dmips{700}, Bytes{7}}),
            (Amounts{Dmips{700}, Bytes{100}, Bytes{1}, Bytes{2}}));
}

}  // namespace
}  // namespace berth::placement
