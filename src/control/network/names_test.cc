#include "control/network/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/testing/builders.h"

namespace berth::control {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts_of(const model::Item& item, const model::InstanceKey& key) {
  std::vector<std::string> texts;
  for (const Name& name : names_of(item, key)) texts.push_back(name.text);
  return texts;
}

TEST(Names, AreThoseOfInstanceSubjectAndItemAndTheConfiguredHosts) {
  EXPECT_THAT(texts_of(a_service("web").host("shop.local"), key_of("web", 2, "vehicle")),
              ElementsAre("2.vehicle.web", "vehicle.web", "web", "shop.local"));
}

TEST(Names, AreMadeOfWhatDnsAllows) {
  EXPECT_THAT(texts_of(a_service("My_App.v2").host("Shop..My_Host."), key_of("My_App.v2")),
              ElementsAre("0.default.my-app-v2", "default.my-app-v2", "my-app-v2", "shop.my-host"));
}

TEST(Names, HaveNoLabelThatIsTooLong) {
  EXPECT_EQ(dns_label(std::string(100, 'a')), std::string(63, 'a'));
}

TEST(Names, AreListedOnce) {
  EXPECT_THAT(texts_of(a_service("web").host("WEB"), key_of("web")),
              ElementsAre("0.default.web", "default.web", "web"));
}

TEST(NameClaims, KeepANameForItsFirstClaimantUntilTheLastUserHasGone) {
  const Name mine{"shop.local", {model::ItemId{"web"}, std::nullopt}};
  const Name yours{"shop.local", {model::ItemId{"till"}, std::nullopt}};
  NameClaims claims;
  EXPECT_TRUE(claims.claim(mine));
  EXPECT_TRUE(claims.claim(mine));
  EXPECT_FALSE(claims.claim(yours));
  claims.release(mine);
  EXPECT_FALSE(claims.claim(yours));
  EXPECT_EQ(to_string(*claims.find("shop.local")), "item web");
  claims.release(mine);
  EXPECT_TRUE(claims.claim(yours));
}

}  // namespace
}  // namespace berth::control
