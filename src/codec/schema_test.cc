#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "codec/manifest.h"
#include "codec/schema.h"
#include "codec/yaml_reader.h"

namespace berth::codec {
namespace {

using nlohmann::json;
using testing::ElementsAre;

json schema() { return json::parse(json_schema()); }

json spec_of(const std::string& kind) {
  return schema()["$defs"][kind]["properties"]["spec"]["properties"];
}

TEST(Schema, IsOfTheDraftThatEditorsKnow) {
  EXPECT_EQ(schema()["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

TEST(Schema, HasAllKindsOfDocuments) {
  const json all = schema();
  ASSERT_EQ(all["oneOf"].size(), 8u);
  for (const std::string kind :
       {"Item", "Deployment", "NodeConfig", "Node", "EnvOverride", "Subject", "Application"}) {
    const json& definition = all["$defs"][kind];
    EXPECT_EQ(definition["properties"]["kind"]["const"], kind);
    EXPECT_EQ(definition["properties"]["apiVersion"]["const"], "berth/v1");
    EXPECT_THAT(definition["required"], ElementsAre("apiVersion", "kind", "metadata", "spec"));
    EXPECT_EQ(definition["additionalProperties"], false);
  }
  EXPECT_THAT(all["$defs"]["Namespace"]["required"], ElementsAre("apiVersion", "kind", "metadata"));
}

TEST(Schema, ListsTheWordsOfEnumerations) {
  EXPECT_THAT(spec_of("Item")["type"]["enum"], ElementsAre("service", "component", "function"));
  EXPECT_EQ(spec_of("Item")["runtimes"]["items"]["enum"].size(), 8u);
  EXPECT_THAT(spec_of("Node")["state"]["enum"],
              ElementsAre("provisioned", "paused", "error", "unprovisioned"));
}

TEST(Schema, TellsDefaultsLimitsAndChoices) {
  const json item = spec_of("Item");
  EXPECT_EQ(item["type"]["default"], "service");
  EXPECT_EQ(item["owner"]["default"], "default");
  EXPECT_EQ(item["images"]["minItems"], 1);
  EXPECT_EQ(item["images"]["items"]["oneOf"].size(), 7u);
  EXPECT_EQ(item["hosts"]["uniqueItems"], true);
  EXPECT_EQ(item["quotas"]["properties"]["cpu"]["maximum"], 1'000'000'000'000);
  EXPECT_EQ(spec_of("NodeConfig")["ratios"]["properties"]["cpu"]["maximum"], 100);
  const json run = spec_of("Deployment")["run"]["items"]["properties"];
  EXPECT_EQ(run["subject"]["default"], "default");
  EXPECT_EQ(run["instances"]["default"], 1);
  EXPECT_EQ(run["instances"]["pattern"], "^all$");
  const json scaling = spec_of("Application")["scaling"]["properties"];
  EXPECT_EQ(scaling["burst"]["pattern"], "^unlimited$");
  EXPECT_EQ(scaling["burst"]["default"], 2);
}

// Whether every key of a document is a property of its schema.
void expect_known(const Tree& tree, const json& definition, const std::string& path) {
  if (tree.kind == Tree::Kind::List) {
    for (const Tree& child : tree.children) expect_known(child, definition["items"], path + "[]");
    return;
  }
  const bool is_free = !definition.contains("properties");
  for (std::size_t i = 0; i < tree.keys.size() && !is_free; ++i) {
    const std::string& key = tree.keys[i].text;
    ASSERT_TRUE(definition["properties"].contains(key)) << path << "." << key;
    expect_known(tree.children[i], definition["properties"][key], path + "." + key);
  }
}

void expect_described(const json& definition, const std::string& path) {
  const json properties = definition.value("properties", json::object());
  for (const auto& [name, property] : properties.items()) {
    EXPECT_FALSE(property.value("description", "").empty()) << path << "." << name;
    expect_described(property, path + "." + name);
    if (property.contains("items")) expect_described(property["items"], path + "." + name + "[]");
  }
}

TEST(Schema, KnowsEveryFieldOfTheExamples) {
  for (const std::string name : {"every_field.yaml", "forms.yaml", "no_errors.yaml"}) {
    std::ifstream in(std::string(BERTH_SOURCE_DIR) + "/tests/fuzz/corpus/manifest/" + name);
    std::stringstream text;
    text << in.rdbuf();
    for (const Tree& tree : read_yaml(text.str()).documents) {
      if (is_null(tree)) continue;
      expect_known(tree, schema()["$defs"][tree.children.at(1).text], name);
    }
  }
}

TEST(Schema, DescribesEveryField) {
  const json definitions = schema()["$defs"];
  for (const auto& [kind, definition] : definitions.items()) {
    expect_described(definition, kind);
  }
}

}  // namespace
}  // namespace berth::codec
