#include "controld/planning/cluster_documents.h"

#include <gtest/gtest.h>

#include "codec/manifest.h"
#include "control/testing.h"

namespace berth::controld {
namespace {

using control::Driver;
using control::ItemBuilder;
using control::key_of;

model::Deployment asks_for(const std::string& item, std::uint32_t instances) {
  model::RunRequest run;
  run.item = model::ItemId(item);
  run.instances = instances;
  return {"base", {run}};
}

placement::Plan plan_of(const Cluster& cluster) {
  return placement::make_plan(snapshot_of(cluster), {.mode = placement::Mode::Run});
}

template <class D>
const D* find(const model::Manifest& documents, const std::string& name) {
  for (const model::Document& document : documents) {
    if (const auto* node = std::get_if<D>(&document); node != nullptr && node->id.value() == name) {
      return node;
    }
  }
  return nullptr;
}

class ClusterDocuments : public testing::Test {
 protected:
  ClusterDocuments() {
    driver_.join("n1");
    driver_.join("n2");
    driver_.apply({model::Item(ItemBuilder("web").cpu(100)), asks_for("web", 3)});
  }
  Cluster cluster() const { return copy_of(driver_.controller()); }

  Driver driver_;
};

TEST_F(ClusterDocuments, APlanOfARestingClusterChangesNothing) {
  const placement::Plan plan = plan_of(cluster());
  EXPECT_EQ(plan.placements.size(), 3u);
  EXPECT_FALSE(placement::changes_anything(plan));
}

TEST_F(ClusterDocuments, AnEditedItemRestartsWhatRuns) {
  const Cluster edited =
      overlaid(cluster(), {model::Item(ItemBuilder("web").cpu(100).env("A", "1"))});
  for (const placement::Placement& placement : plan_of(edited).placements) {
    EXPECT_EQ(placement.action, placement::Action::Restart);
  }
}

TEST_F(ClusterDocuments, OtherVariablesRestartThoseWhomTheyConcern) {
  model::EnvEntry entry;
  entry.index = 1;
  entry.variables = {{"A", "1", {}}};
  const placement::Plan plan = plan_of(overlaid(cluster(), {model::EnvOverride{"debug", {entry}}}));
  EXPECT_EQ(plan.placements.at(0).action, placement::Action::Keep);
  EXPECT_EQ(plan.placements.at(1).action, placement::Action::Restart);
}

TEST_F(ClusterDocuments, AnotherHealthCheckRestartsNothing) {
  model::Item item = ItemBuilder("web").cpu(100);
  item.health = model::HealthCheck{};
  EXPECT_FALSE(placement::changes_anything(plan_of(overlaid(cluster(), {item}))));
}

TEST_F(ClusterDocuments, AVersionThatFailedIsTriedOnlyIfSomebodyAsksAgain) {
  driver_.agent("n1").broken_versions = {"2"};
  driver_.agent("n2").broken_versions = {"2"};
  model::Deployment second = asks_for("web", 3);
  second.run[0].version = "2";
  driver_.apply({model::Item(ItemBuilder("web").cpu(100).version("2")), second});
  ASSERT_TRUE(driver_.durable().rollouts.begin()->second.failed);
  EXPECT_FALSE(placement::changes_anything(plan_of(cluster())));
  EXPECT_TRUE(placement::changes_anything(plan_of(overlaid(cluster(), {second}))));
}

TEST_F(ClusterDocuments, AnotherVersionOfTheItemOrTheSameOnceMoreIsNotAskingAgain) {
  driver_.agent("n1").broken_versions = {"2"};
  driver_.agent("n2").broken_versions = {"2"};
  model::Deployment second = asks_for("web", 3);
  second.run[0].version = "2";
  const model::Item item = ItemBuilder("web").cpu(100).version("2");
  driver_.apply({item, second});
  const auto changes = [&](model::Manifest documents) {
    return placement::changes_anything(plan_of(overlaid(cluster(), std::move(documents))));
  };
  EXPECT_FALSE(changes({item}));
  EXPECT_FALSE(changes({model::Item(ItemBuilder("web").cpu(100).version("3"))}));
  EXPECT_TRUE(changes({model::Item(ItemBuilder("web").cpu(100).version("2").env("A", "1"))}));
}

TEST_F(ClusterDocuments, WhereOneDidNotComeUpItIsNotSentBeforeSomebodyAsksAgain) {
  driver_.join("n3", control::a_node().cpu(3000));
  driver_.apply({model::Item(ItemBuilder("db")), model::Deployment{"late", {}}});
  model::RunRequest run;
  run.item = model::ItemId("db");
  run.instances = 1;
  const model::Deployment asks{"late", {run}};
  driver_.apply({asks});
  const std::string source = driver_.place_of(key_of("db"));
  const std::string node = source.substr(0, source.find('/'));
  for (const char* other : {"n1", "n2", "n3"}) {
    if (other != node) driver_.agent(other).broken_versions = {"1"};
  }
  driver_.drain(node);
  driver_.advance(1s);
  ASSERT_EQ(driver_.place_of(key_of("db")), source);
  const auto place = [&](const Cluster& planned) {
    const placement::Plan plan = plan_of(planned);
    for (const auto& placement : plan.placements) {
      if (placement.key == key_of("db")) return model::to_string(placement.place);
    }
    return std::string();
  };
  EXPECT_EQ(place(cluster()), source) << "as the control plane decides";
  EXPECT_NE(place(overlaid(cluster(), {asks})), source);
}

TEST_F(ClusterDocuments, TheyTellWhatRunsWhere) {
  const Cluster copied = cluster();
  EXPECT_EQ(copied.revision, driver_.revision());
  std::size_t running = 0;
  for (const char* name : {"n1", "n2"}) {
    const auto* node = find<model::Node>(copied.documents, name);
    ASSERT_NE(node, nullptr);
    EXPECT_TRUE(node->connected);
    running += node->running.size();
  }
  EXPECT_EQ(running, 3u);
}

TEST_F(ClusterDocuments, TheyCanBeReadBackAsManifests) {
  model::Manifest documents = cluster().documents;
  std::get<model::Item>(documents.at(0)).images[0].platform.arch = "amd64";  // manifests need it
  std::string text;
  for (const model::Document& document : documents) {
    text += codec::to_json(document) + "\n---\n";
  }
  const auto parsed = codec::parse_manifests({{"cluster", text}});
  for (const auto& diagnostic : parsed.diagnostics) ADD_FAILURE() << codec::to_string(diagnostic);
  EXPECT_TRUE(parsed.documents == documents);
}

TEST_F(ClusterDocuments, ASilentNodeKeepsWhatItHasAndGetsNothingNew) {
  driver_.disconnect("n1");
  driver_.disconnect("n2");
  driver_.advance(3s);
  const Cluster copied = cluster();
  for (const placement::NodeMoment& node : copied.moment.nodes) {
    EXPECT_EQ(node.reachability, placement::Reachability::Unreachable);
  }
  EXPECT_FALSE(placement::changes_anything(plan_of(copied)));
  const placement::Plan offline =
      placement::make_plan(placement::snapshot_of(copied.documents), {});
  EXPECT_FALSE(placement::changes_anything(offline)) << "the same from the documents alone";
  const Cluster asked = overlaid(copied, {asks_for("web", 4)});
  EXPECT_EQ(plan_of(asked).refused.size(), 1u);
}

TEST_F(ClusterDocuments, OverlaidDocumentsReplaceTheirNamesakes) {
  const Cluster asked = overlaid(cluster(), {asks_for("web", 1)});
  EXPECT_EQ(asked.documents.size(), cluster().documents.size());
  EXPECT_EQ(plan_of(asked).stops.size(), 2u);
}

TEST_F(ClusterDocuments, AnOutlineIsEnoughToCheckAgainst) {
  const model::Manifest outline = outline_of(driver_.durable());
  const std::string text =
      "apiVersion: berth/v1\nkind: Deployment\nmetadata: {name: base}\n"
      "spec: {run: [{item: web, instances: 2}]}\n";
  EXPECT_TRUE(codec::parse_manifests({{"f", text}}, outline).ok());
}

}  // namespace
}  // namespace berth::controld
