#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/manifest.h"

namespace berth::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Item an_item(const char* id, const char* version, ItemType type = ItemType::Service) {
  Item item;
  item.id = ItemId(id);
  item.version = version;
  item.type = type;
  return item;
}

RunRequest a_request(const char* item, const char* version = "", const char* subject = "default") {
  RunRequest request;
  request.item = ItemId(item);
  request.version = version;
  request.subject = SubjectId(subject);
  return request;
}

RunRequest for_all(RunRequest request) {
  request.instances = std::nullopt;
  return request;
}

NodeConfig a_config(const char* name) {
  NodeConfig config;
  config.name = name;
  return config;
}

Node a_node(const char* id) {
  Node node;
  node.id = NodeId(id);
  return node;
}

Node with_partitions(Node node, Partitions partitions) {
  node.info.partitions = partitions;
  return node;
}

Node running(Node node, std::vector<InstanceKey> keys) {
  for (InstanceKey& key : keys) node.running.push_back({std::move(key), "1", RuntimeId("r"), {}});
  return node;
}

TEST(Validate, FindsNothingInAGoodManifest) {
  EXPECT_THAT(validate({}), IsEmpty());
  EXPECT_THAT(validate({an_item("a", "1"), an_item("a", "2"), an_item("b", "1"),
                        Deployment{"x", {a_request("a", "2"), a_request("a", "1", "other")}},
                        Deployment{"y", {a_request("b")}}, a_node("x"), a_config("x")}),
              IsEmpty());
}

TEST(Validate, FindsRequestsForUnknownItems) {
  EXPECT_THAT(validate({an_item("telemetry", "1"), Deployment{"d", {a_request("telemtry")}}}),
              ElementsAre(Finding{1, "spec.run[0].item",
                                  "there is no item \"telemtry\". Did you mean \"telemetry\"?"}));
}

TEST(Validate, FindsRequestsForUnknownVersions) {
  EXPECT_THAT(validate({an_item("a", "1.2.0"), an_item("a", "2.0.0"),
                        Deployment{"d", {a_request("a", "1.2.1"), a_request("a", "x", "s")}}}),
              ElementsAre(Finding{2, "spec.run[0].version",
                                  "item \"a\" has no version \"1.2.1\" (known versions: 1.2.0, "
                                  "2.0.0). Did you mean \"1.2.0\"?"},
                          Finding{2, "spec.run[1].version",
                                  "item \"a\" has no version \"x\" (known versions: 1.2.0, "
                                  "2.0.0)."}));
}

TEST(Validate, FindsRequestsThatLeaveTheVersionOpen) {
  EXPECT_THAT(validate({an_item("a", "1"), an_item("a", "2"), Deployment{"d", {a_request("a")}}}),
              ElementsAre(Finding{2, "spec.run[0].version",
                                  "is missing: item \"a\" has several versions (1, 2)"}));
}

TEST(Validate, AllowsAllForComponentsOnly) {
  EXPECT_THAT(
      validate({an_item("root", "1", ItemType::Component), an_item("web", "1"),
                Deployment{"d", {for_all(a_request("root")), for_all(a_request("web"))}}}),
      ElementsAre(Finding{2, "spec.run[1].instances", "all is for components; \"web\" is a service",
                          ItemKey{ItemId("web"), "1"}}));
}

TEST(Validate, FindsWhatIsAskedForTwice) {
  const Item item = an_item("a", "1");
  EXPECT_THAT(validate({item, Deployment{"x", {a_request("a"), a_request("a", "1")}}}),
              ElementsAre(Finding{1, "spec.run[1]",
                                  "item \"a\" for subject \"default\" is asked for already, by "
                                  "spec.run[0] of \"x\""}));
  EXPECT_THAT(
      validate({item, Deployment{"x", {a_request("a")}}, Deployment{"y", {a_request("a")}}}),
      ElementsAre(Finding{2, "spec.run[0]",
                          "item \"a\" for subject \"default\" is asked for already, by "
                          "spec.run[0] of \"x\""}));
}

TEST(Validate, FindsDocumentsOfOneName) {
  EXPECT_THAT(
      validate({an_item("a", "1"), an_item("a", "1"), Deployment{"a", {}}, Deployment{"a", {}},
                a_config("a"), a_config("a"), a_node("a"), a_node("a")}),
      ElementsAre(Finding{1, "metadata.name", "item a@1 is there twice"},
                  Finding{3, "metadata.name", "Deployment \"a\" is there twice"},
                  Finding{5, "metadata.name", "NodeConfig \"a\" is there twice"},
                  Finding{7, "metadata.name", "Node \"a\" is there twice"}));
}

TEST(Validate, FindsConfigsThatSetOneFieldForOneMatch) {
  NodeConfig one = a_config("one"), two = a_config("two");
  one.node = two.node = NodeId("n");
  one.priority = two.priority = 1;
  one.labels = two.labels = std::set<std::string>{};
  two.ratios = Ratios{};
  EXPECT_THAT(validate({one, two}),
              ElementsAre(Finding{1, "spec.priority", "is set for node \"n\" by \"one\" already"},
                          Finding{1, "spec.labels", "is set for node \"n\" by \"one\" already"}));
  two.node.reset();
  EXPECT_THAT(validate({one, two}), IsEmpty());
  two.type = "n";
  EXPECT_THAT(validate({one, two}), IsEmpty());
}

TEST(Validate, FindsUnitWidePartitionsThatDisagree) {
  const Partitions small{Bytes(1), Bytes(2), false, true};
  Partitions other = small;
  EXPECT_THAT(validate({with_partitions(a_node("a"), small), with_partitions(a_node("b"), other)}),
              IsEmpty());
  other.storage.reset();
  EXPECT_THAT(validate({with_partitions(a_node("a"), small), with_partitions(a_node("b"), other)}),
              ElementsAre(Finding{1, "spec.partitions",
                                  "unitWide is one partition with that of node \"a\", but storage "
                                  "is not limited here, 1 there"}));
  other = small;
  other.same_partition = true;
  EXPECT_THAT(validate({with_partitions(a_node("a"), small), with_partitions(a_node("b"), other)}),
              ElementsAre(Finding{1, "spec.partitions",
                                  "unitWide is one partition with that of node \"a\", but "
                                  "samePartition is not the same"}));
  other.unit_wide = false;
  EXPECT_THAT(validate({with_partitions(a_node("a"), small), with_partitions(a_node("b"), other)}),
              IsEmpty());
}

TEST(Validate, FindsInstancesThatRunTwice) {
  const InstanceKey key{ItemId("i"), SubjectId("s"), 0};
  const InstanceKey next{ItemId("i"), SubjectId("s"), 1};
  EXPECT_THAT(
      validate({running(a_node("a"), {key, next, next}), running(a_node("b"), {key})}),
      ElementsAre(
          Finding{0, "spec.running[2]", "i/s/1 runs already, by spec.running[1] of \"a\""},
          Finding{1, "spec.running[0]", "i/s/0 runs already, by spec.running[0] of \"a\""}));
}

Application an_application(const char* item, const char* version = "",
                           const char* space = Namespace::kDefault) {
  Application application;
  application.name = "echo";
  application.ns = space;
  application.item = ItemId(item);
  application.version = version;
  return application;
}

Item with_quotas(Item item, ResourceSpec quotas) {
  item.quotas = quotas;
  return item;
}

TEST(Validate, AnApplicationNeedsItsNamespace) {
  const Item item = an_item("a", "1");
  EXPECT_THAT(validate({item, an_application("a")}), IsEmpty()) << "the default one is there";
  EXPECT_THAT(validate({item, Namespace{"games"}, an_application("a", "", "games")}), IsEmpty());
  EXPECT_THAT(validate({item, Namespace{"games"}, an_application("a", "", "gemes")}),
              ElementsAre(Finding{2, "metadata.namespace",
                                  "there is no namespace \"gemes\": apply it first, or with this. "
                                  "Did you mean \"games\"?"}));
}

TEST(Validate, ApplicationsOfTwoNamespacesMayHaveOneName) {
  const Manifest manifest{an_item("a", "1"), Namespace{"x"}, an_application("a"),
                          an_application("a", "", "x")};
  EXPECT_THAT(validate(manifest), IsEmpty());
  Manifest twice = manifest;
  twice.push_back(manifest.back());
  EXPECT_THAT(validate(twice),
              ElementsAre(Finding{4, "metadata.name", "Application \"x/echo\" is there twice"}));
}

TEST(Validate, AnApplicationRefersToItsItemAsRequestsDo) {
  const Item one = an_item("web", "1"), two = an_item("web", "2");
  EXPECT_THAT(validate({one, two, an_application("web", "2")}), IsEmpty());
  EXPECT_THAT(
      validate({one, an_application("wep")}),
      ElementsAre(Finding{1, "spec.item", "there is no item \"wep\". Did you mean \"web\"?"}));
  EXPECT_THAT(validate({one, two, an_application("web")}),
              ElementsAre(Finding{2, "spec.version",
                                  "is missing: item \"web\" has several versions (1, 2)"}));
  EXPECT_THAT(validate({one, an_application("web", "3")}),
              ElementsAre(Finding{1, "spec.version",
                                  "item \"web\" has no version \"3\" (known versions: 1)."}));
}

TEST(Validate, AnApplicationRunsAServiceThatKeepsNothing) {
  const ItemKey key{ItemId("a"), "1"};
  EXPECT_THAT(
      validate({an_item("a", "1", ItemType::Component), an_application("a")}),
      ElementsAre(Finding{1, "spec.item",
                          "item \"a\" is a component; an application needs a service", key}));
  const Item item = an_item("a", "1");
  const std::string rest =
      ", but instances of an application keep nothing: take the quota out of the item, or use "
      "another";
  EXPECT_THAT(
      validate({with_quotas(item, {.storage = Bytes(1)}), an_application("a")}),
      ElementsAre(Finding{1, "spec.item", "item \"a\" has a quota of storage" + rest, key}));
  EXPECT_THAT(validate({with_quotas(item, {.state = Bytes(1)}), an_application("a")}),
              ElementsAre(Finding{1, "spec.item", "item \"a\" has a quota of state" + rest, key}));
}

}  // namespace
}  // namespace berth::model
