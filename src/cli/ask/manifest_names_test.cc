#include "cli/ask/manifest_names.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

v1::Cluster a_cluster() {
  v1::Cluster cluster;
  const auto status = google::protobuf::util::JsonStringToMessage(R"({"revision":"1","documents":[
    {"kind":"Item","metadata":{"name":"web"},"spec":{"version":"1.0","ram":1125899906842624}},
    {"kind":"Item","metadata":{"name":"web"},"spec":{"version":"2.0"}},
    {"kind":"Deployment","metadata":{"name":"base"}}]})",
                                                                  &cluster);
  EXPECT_TRUE(status.ok());
  return cluster;
}

TEST(DocumentNames, AreKindNameAndOfAnItemItsVersion) {
  const auto names = document_names({"a.yaml",
                                     "kind: Item\nmetadata: {name: web}\nspec: {version: '1.0'}\n"
                                     "---\nkind: Node\nmetadata: {name: n1}\n---\nkind: Item\n"});
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(names[0], (DocumentName{"Item", "web@1.0"}));
  EXPECT_EQ(names[1], (DocumentName{"Node", "n1"}));
  EXPECT_TRUE(document_names({"b.yaml", "[not: a, manifest"}).empty());
}

TEST(Overlaid, ReplacesDocumentsOfTheSameKindAndName) {
  const auto files = overlaid(
      a_cluster(), {{"new.yaml", "kind: Item\nmetadata: {name: web}\nspec: {version: '2.0'}\n"}});
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].text,
            "---\n{\"kind\":\"Item\",\"metadata\":{\"name\":\"web\"},"
            "\"spec\":{\"version\":\"1.0\",\"ram\":1125899906842624}}\n"
            "---\n{\"kind\":\"Deployment\",\"metadata\":{\"name\":\"base\"}}\n");
  EXPECT_EQ(files[1].name, "new.yaml");
}

TEST(Overlaid, IsTheClusterItselfWithoutFiles) {
  EXPECT_EQ(overlaid(a_cluster(), {}).size(), 1u);
  EXPECT_TRUE(overlaid({}, {}).empty());
}

}  // namespace
}  // namespace berth::cli
