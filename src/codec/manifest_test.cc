#include "codec/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "codec/arbitrary.h"

namespace berth::codec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string corpus_file(std::string_view name) {
  const std::string path =
      std::string(BERTH_SOURCE_DIR) + "/tests/fuzz/corpus/manifest/" + std::string(name);
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

// The documents of a text that must be fine, without even a warning.
model::Manifest documents_of(std::string text) {
  const ParsedManifest parsed = parse_manifests({{"test.yaml", std::move(text)}});
  for (const Diagnostic& diagnostic : parsed.diagnostics) ADD_FAILURE() << to_string(diagnostic);
  return parsed.documents;
}

template <class D>
D only_document(std::string text) {
  const model::Manifest documents = documents_of(std::move(text));
  EXPECT_EQ(documents.size(), 1u);
  return documents.empty() ? D{} : std::get<D>(documents.front());
}

TEST(Manifest, OfTheExampleSaysWhatItMeansForItems) {
  const auto item = std::get<model::Item>(documents_of(corpus_file("every_field.yaml")).at(0));
  EXPECT_EQ(item.id, model::ItemId("sampler"));
  EXPECT_EQ(item.type, model::ItemType::Service);
  EXPECT_EQ(item.version, "1.2.0");
  EXPECT_EQ(item.owner, model::OwnerId("northwind"));
  EXPECT_THAT(item.runtimes, ElementsAre(model::RuntimeType::Crun, model::RuntimeType::Runc));
  ASSERT_EQ(item.images.size(), 2u);
  EXPECT_EQ(item.images[0].platform, (model::Platform{"linux", "amd64", "v1", "12", {"seccomp"}}));
  EXPECT_THAT(item.images[0].runtimes, ElementsAre(model::RuntimeType::Runc));
  EXPECT_EQ(item.images[0].form, model::ImageForm(model::OciImage{"images/sampler:1.2"}));
  EXPECT_EQ(item.images[1].form,
            model::ImageForm(model::CommandImage{{"/usr/bin/sampler", "--verbose"}}));
  EXPECT_THAT(item.args, ElementsAre("--port", "8080"));
  EXPECT_EQ(item.env, (std::map<std::string, std::string>{{"MODE", "edge"}}));
  EXPECT_EQ(item.quotas,
            (model::ResourceSpec{Dmips(1000), Bytes(128 << 20), Bytes(64 << 20), Bytes(1 << 20)}));
  EXPECT_EQ(item.request,
            (model::ResourceSpec{Dmips(300), Bytes(64 << 20), std::nullopt, std::nullopt}));
  EXPECT_FALSE(item.skip_resource_limits);
  EXPECT_THAT(item.shared_resources, ElementsAre("camera"));
  EXPECT_EQ(item.balancing, model::Balancing::Enabled);
  EXPECT_EQ(item.move, model::MovePolicy::MakeBeforeBreak);
  EXPECT_THAT(item.tolerates, IsEmpty());
  EXPECT_THAT(item.ports, ElementsAre(model::Port{8080, model::Protocol::Tcp}));
  EXPECT_THAT(item.allowed_connections,
              ElementsAre(model::AllowedConnection{model::ItemId("broker"), {1883}}));
  EXPECT_THAT(item.hosts, ElementsAre("sampler.local"));
  EXPECT_EQ(item.health, (model::HealthCheck{model::HttpCheck{8080, "/healthz"}, 5s, 3}));
  EXPECT_EQ(item.min_healthy, 500ms);
  EXPECT_EQ(item.restart, (model::RestartPolicy{model::RestartMode::Always, 1s, 60s}));
  EXPECT_EQ(item.alerts.cpu, (model::ThresholdRule{50, 90, 10s}));
  EXPECT_EQ(item.alerts.ram, std::nullopt);
}

TEST(Manifest, OfTheExampleSaysWhatItMeansForDeploymentsAndConfigs) {
  const auto documents = documents_of(corpus_file("every_field.yaml"));
  const auto& deployment = std::get<model::Deployment>(documents.at(1));
  EXPECT_EQ(deployment.name, "base");
  ASSERT_EQ(deployment.run.size(), 2u);
  EXPECT_EQ(deployment.run[0], (model::RunRequest{model::ItemId("sampler"),
                                                  "1.2.0",
                                                  model::SubjectId("vehicle"),
                                                  100,
                                                  2,
                                                  {"bay=left"},
                                                  {model::NodeId("n1"), model::NodeId("n2")}}));
  EXPECT_EQ(deployment.run[1].instances, std::nullopt);

  const auto& config = std::get<model::NodeConfig>(documents.at(2));
  EXPECT_EQ(config.name, "edge-nodes");
  EXPECT_EQ(config.node, model::NodeId("n1"));
  EXPECT_EQ(config.type, std::nullopt);
  EXPECT_EQ(config.priority, 100);
  EXPECT_EQ(config.labels, (std::set<std::string>{"bay=left", "gpu=true"}));
  EXPECT_EQ(config.ratios, (model::Ratios{50, 50, 50, 50}));
  EXPECT_EQ(config.default_request, (model::DefaultRequest{5, 5}));
  const model::ThresholdRule rule{75, 85, 30s};
  EXPECT_EQ(config.thresholds, (model::Thresholds{rule, rule}));
}

TEST(Manifest, OfTheExampleSaysWhatItMeansForNodes) {
  const auto node = std::get<model::Node>(documents_of(corpus_file("every_field.yaml")).at(3));
  EXPECT_EQ(node.id, model::NodeId("n1"));
  EXPECT_EQ(node.info.type, "vm");
  EXPECT_EQ(node.info.state, model::NodeState::Provisioned);
  EXPECT_TRUE(node.connected);
  EXPECT_FALSE(node.cordoned);
  EXPECT_EQ(node.info.capacity, (model::Usage{Dmips(10000), Bytes(8LL << 30)}));
  EXPECT_EQ(node.info.partitions,
            (model::Partitions{Bytes(4LL << 30), Bytes(64 << 20), false, false}));
  EXPECT_THAT(node.info.shared_resources, ElementsAre(model::SharedResource{"camera", 2}));
  ASSERT_EQ(node.info.runtimes.size(), 1u);
  EXPECT_EQ(node.info.runtimes[0], (model::Runtime{model::RuntimeId("runc"),
                                                   model::RuntimeType::Runc,
                                                   {"linux", "amd64", "", "", {}},
                                                   {Dmips(5000), Bytes(4LL << 30), 20},
                                                   true,
                                                   model::Readiness::Ready}));
  EXPECT_EQ(node.usage, (model::Usage{Dmips(6200), Bytes(3LL << 30)}));
  EXPECT_THAT(node.running, ElementsAre(model::RunningInstance{
                                {model::ItemId("sampler"), model::SubjectId("vehicle"), 0},
                                "1.2.0",
                                model::RuntimeId("runc"),
                                {Dmips(280), Bytes(60 << 20)}}));
}

TEST(Manifest, LeavesTheDefaultsOfTheModel) {
  const auto item = only_document<model::Item>(
      "{apiVersion: berth/v1, kind: Item, metadata: {name: a},"
      " spec: {version: 1.2, images: [{command: [x]}]}}");
  model::Item expected;
  expected.id = model::ItemId("a");
  expected.version = "1.2";
  expected.images = {{{}, {}, model::CommandImage{{"x"}}}};
  EXPECT_EQ(item, expected);

  const auto node = only_document<model::Node>(
      "{apiVersion: berth/v1, kind: Node, metadata: {name: n}, spec: {runtimes: [{name: r, type: "
      "vm}], running: [{item: a, version: 1, runtime: gone}]}}");
  EXPECT_EQ(node.info.state, model::NodeState::Provisioned);
  EXPECT_TRUE(node.connected);
  EXPECT_FALSE(node.cordoned);
  EXPECT_EQ(node.info.runtimes[0].ready, model::Readiness::Ready);
  EXPECT_EQ(node.info.runtimes[0].limits, model::RuntimeLimits{});
  EXPECT_EQ(node.usage, std::nullopt);
  EXPECT_EQ(node.running[0].key.subject, model::SubjectId("default"));
}

TEST(Manifest, TakesANullAsLeftOut) {
  const auto deployment = only_document<model::Deployment>(
      "apiVersion: berth/v1\nkind: Deployment\nmetadata: {name: a, labels: }\nspec:\n  run:\n");
  EXPECT_THAT(deployment.run, IsEmpty());
}

TEST(Manifest, TellsAnEmptyFieldOfAConfigFromNone) {
  const auto config = only_document<model::NodeConfig>(
      "{apiVersion: berth/v1, kind: NodeConfig, metadata: {name: a}, spec: {labels: [], ratios: "
      "{}}}");
  EXPECT_TRUE(config.labels);
  EXPECT_TRUE(config.ratios);
  EXPECT_FALSE(config.thresholds);
  EXPECT_EQ(only_document<model::NodeConfig>(to_json(config)), config);
}

TEST(Manifest, AcceptsWhatTheSpecCallsNoError) { documents_of(corpus_file("no_errors.yaml")); }

TEST(Manifest, ReadsAllForms) {
  const auto documents = documents_of(corpus_file("forms.yaml"));
  std::set<std::size_t> forms;
  for (const auto& document : documents) {
    for (const auto& image : std::get<model::Item>(document).images) {
      forms.insert(image.form.index());
    }
  }
  EXPECT_EQ(forms.size(), std::variant_size_v<model::ImageForm>);
}

TEST(Manifest, OfSeveralFilesIsOne) {
  const ParsedManifest parsed = parse_manifests(
      {{"deployment.yaml",
        "{apiVersion: berth/v1, kind: Deployment, metadata: {name: d}, spec: {run: [{item: a}]}}"},
       {"item.json", R"({"apiVersion":"berth/v1","kind":"Item","metadata":{"name":"a"},)"
                     R"("spec":{"version":"1","images":[{"command":["x"]}]}})"}});
  EXPECT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.documents.size(), 2u);
}

// What the generator does not know: the relations between fields.
void make_valid(model::ThresholdRule& rule) {
  if (rule.min > rule.max) std::swap(rule.min, rule.max);
}
void make_valid(model::Thresholds& thresholds) {
  if (thresholds.cpu) make_valid(*thresholds.cpu);
  if (thresholds.ram) make_valid(*thresholds.ram);
}
void make_valid(model::Item& item) {
  make_valid(item.alerts);
  for (model::Image& image : item.images) image.platform.arch = "amd64";
}
void make_valid(model::Deployment& deployment) { deployment.run.clear(); }
void make_valid(model::NodeConfig& config) {
  if (config.thresholds) make_valid(*config.thresholds);
  if (config.node) config.type.reset();
}
void make_valid(model::Node& node) {
  for (std::size_t i = 0; i < node.info.runtimes.size(); ++i) {
    node.info.runtimes[i].id = model::RuntimeId("r" + std::to_string(i));
    node.info.runtimes[i].primary = i == 1;
  }
  std::set<std::string> names;
  std::erase_if(node.info.shared_resources,
                [&](const auto& resource) { return !names.insert(resource.name).second; });
  for (std::size_t i = 0; i < node.running.size(); ++i) {
    node.running[i].key.index = static_cast<std::uint32_t>(i);
  }
}
void make_valid(model::EnvOverride& list) {
  list.counted_from.reset();
}  // only stored ones have it
void make_valid(model::Subject&) {}
void make_valid(model::Namespace&) {}

model::Item item_for(const model::Application& application) {
  model::Item item;
  item.id = application.item;
  item.version = application.version.empty() ? "1" : application.version;
  item.images = {{.platform = {}, .runtimes = {}, .form = model::CommandImage{{"x"}}}};
  return item;
}
void make_valid(std::optional<model::Band>& band, std::uint32_t most) {
  if (!band) return;
  band->high = std::min(band->high, most);
  band->low = std::min(band->low, band->high);
}
void make_valid(model::Application& application) {
  model::ScalingPolicy& scaling = application.scaling;
  scaling.minimum = std::min(scaling.minimum, scaling.maximum);
  if (scaling.idle) scaling.idle_percent.reset();
  make_valid(scaling.idle, 1'000'000);
  make_valid(scaling.idle_percent, 99);
  make_valid(scaling.standby, 1'000'000);
  if (application.sessions.idle_timeout) application.sessions.service = true;
}

template <class D>
class Documents : public testing::Test {};
using Kinds = testing::Types<model::Item, model::Deployment, model::NodeConfig, model::Node,
                             model::EnvOverride, model::Subject, model::Namespace>;
TYPED_TEST_SUITE(Documents, Kinds);

TYPED_TEST(Documents, ComeBackFromJsonAsTheyWere) {
  EXPECT_TRUE(rc::check("parse(to_json(x)) == x", [] {
    const auto seed = *rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>());
    auto document = Arbitrary(Form::Manifest, seed).make<TypeParam>();
    make_valid(document);
    const ParsedManifest parsed = parse_manifests({{"x.json", to_json(document)}});
    for (const Diagnostic& diagnostic : parsed.diagnostics) {
      RC_LOG() << to_string(diagnostic) << "\n";
    }
    RC_ASSERT(parsed.ok());
    RC_ASSERT((parsed.documents == model::Manifest{document}));
  }));
}

TEST(Documents, ThatAreApplicationsComeBackFromJsonAsTheyWere) {
  EXPECT_TRUE(rc::check("parse(to_json(x)) == x", [] {
    const auto seed = *rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>());
    auto application = Arbitrary(Form::Manifest, seed).make<model::Application>();
    make_valid(application);
    const model::Manifest all{item_for(application), model::Namespace{application.ns}, application};
    std::vector<SourceFile> files;
    for (const auto& document : all) files.push_back({"x.json", to_json(document)});
    const ParsedManifest parsed = parse_manifests(files);
    for (const Diagnostic& diagnostic : parsed.diagnostics) {
      RC_LOG() << to_string(diagnostic) << "\n";
    }
    RC_ASSERT((parsed.documents == all));
  }));
}

// Requests need their items, so they are made by hand.
TEST(Documents, ThatReferToEachOtherComeBackFromJsonTogether) {
  const auto documents = documents_of(corpus_file("every_field.yaml"));
  std::vector<SourceFile> files;
  for (const auto& document : documents) files.push_back({"x.json", to_json(document)});
  EXPECT_EQ(parse_manifests(files).documents, documents);
}

TEST(ToJson, WritesTheFormOfManifestsWithoutDefaults) {
  const std::string text =
      R"({"apiVersion":"berth/v1","kind":"NodeConfig","metadata":{"name":"c"},)"
      R"("spec":{"match":{"type":"vm"},"priority":7}})";
  EXPECT_EQ(to_json(only_document<model::NodeConfig>(text)), text);
}

}  // namespace
}  // namespace berth::codec
