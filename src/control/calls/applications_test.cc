#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

model::Application an_application(const std::string& name, const std::string& space = "default") {
  model::Application application;
  application.name = name;
  application.ns = space;
  application.item = model::ItemId{"web"};
  return application;
}

class ApplicationCalls : public testing::TestWithParam<Walk> {
 protected:
  ApplicationCalls() : driver(config()) {
    driver.join("n1");
    driver.apply({a_service("web")});
  }

  // Also without looking at new documents only.
  static Config config() {
    Config config;
    config.walk = GetParam();
    return config;
  }

  bool is_accepted(CallId call) { return driver.reply_to<Accepted>(call).has_value(); }
  std::string why_not(CallId call) {
    const auto error = driver.reply_to<Error>(call);
    return error ? error->message : "";
  }

  Driver driver;
};

TEST_P(ApplicationCalls, AreWrittenDown) {
  EXPECT_TRUE(is_accepted(driver.apply({model::Namespace{"games"}, an_application("a", "games")})));
  EXPECT_TRUE(driver.durable().namespaces.contains("games"));
  EXPECT_TRUE(driver.durable().applications.contains({"games", "a"}));
  driver.restart();
  EXPECT_TRUE(driver.durable().applications.contains({"games", "a"}));
}

TEST_P(ApplicationCalls, NeedTheirNamespaceAndItem) {
  EXPECT_FALSE(is_accepted(driver.apply({an_application("a", "games")})));
  EXPECT_TRUE(is_accepted(driver.apply({model::Namespace{"games"}})));
  EXPECT_TRUE(is_accepted(driver.apply({an_application("a", "games")})));
  model::Application other = an_application("b");
  other.item = model::ItemId{"unknown"};
  EXPECT_EQ(why_not(driver.apply({other})),
            "Application default/b: spec.item: there is no item \"unknown\".");
  EXPECT_FALSE(is_accepted(driver.apply({a_service("web").state(1), an_application("a")})));
}

TEST_P(ApplicationCalls, NeedTheirItemForGood) {
  driver.apply({an_application("a")});
  EXPECT_EQ(why_not(driver.erase("Item", "web@1")),
            "Application default/a: spec.item: there is no item \"web\".");
  EXPECT_FALSE(is_accepted(driver.apply({a_service("web").state(1)})));
  EXPECT_TRUE(is_accepted(driver.erase("Application", "a")));
  EXPECT_TRUE(is_accepted(driver.erase("Item", "web@1")));
}

TEST_P(ApplicationCalls, AreDeletedByTheirNamespaceAndName) {
  driver.apply({model::Namespace{"games"}, an_application("a"), an_application("a", "games")});
  EXPECT_EQ(why_not(driver.erase("Application", "games/b")),
            "no application games/b; they are named namespace/name");
  EXPECT_TRUE(is_accepted(driver.erase("Application", "games/a")));
  EXPECT_TRUE(driver.durable().applications.contains({"default", "a"}));
  EXPECT_FALSE(driver.durable().applications.contains({"games", "a"}));
}

TEST_P(ApplicationCalls, KeepTheirNamespaceUnlessItCascades) {
  driver.apply({model::Namespace{"games"}, an_application("a", "games"),
                an_application("b", "games"), an_application("c")});
  EXPECT_EQ(why_not(driver.erase("Namespace", "games")),
            "namespace games has applications (games/a, games/b): delete them first, or all at "
            "once with --cascade");
  driver.tell({DeleteCall{77, "Namespace", "games", Cascade::Yes}});
  EXPECT_TRUE(is_accepted(77));
  EXPECT_FALSE(driver.durable().namespaces.contains("games"));
  EXPECT_EQ(driver.durable().applications.size(), 1u);
}

TEST_P(ApplicationCalls, TheDefaultNamespaceIsAlwaysThere) {
  EXPECT_TRUE(driver.durable().namespaces.contains("default"));
  EXPECT_TRUE(is_accepted(driver.apply({model::Namespace{"default"}})));
  EXPECT_EQ(why_not(driver.erase("Namespace", "default")),
            "the default namespace is always there; delete what is in it");
  EXPECT_EQ(why_not(driver.erase("Namespace", "other")), "no namespace other");
}

TEST_P(ApplicationCalls, OnlyNamespacesCascade) {
  driver.tell({DeleteCall{77, "Item", "web@1", Cascade::Yes}});
  EXPECT_EQ(why_not(77), "cascade is for a Namespace; nothing is in a document of kind Item");
}

INSTANTIATE_TEST_SUITE_P(Walks, ApplicationCalls, testing::Values(Walk::Dirty, Walk::Everything));

}  // namespace
}  // namespace berth::control
