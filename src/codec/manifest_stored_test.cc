#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/manifest.h"

// Files that are laid over documents which are there already.
namespace berth::codec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kItem =
    "apiVersion: berth/v1\nkind: Item\nmetadata: {name: web}\n"
    "spec: {version: 1, images: [{command: [x]}]}\n";
constexpr const char* kStoredDeployment =
    "apiVersion: berth/v1\nkind: Deployment\nmetadata: {name: base}\n"
    "spec: {run: [{item: web}]}\n";
constexpr const char* kNextVersion =
    "apiVersion: berth/v1\nkind: Item\nmetadata: {name: web}\n"
    "spec: {version: 2, images: [{command: [x]}]}\n";

model::Manifest stored(const std::string& text) {
  const ParsedManifest parsed = parse_manifests({{"stored", text}});
  EXPECT_TRUE(parsed.ok());
  return parsed.documents;
}

std::vector<std::string> errors_of(const std::string& text, const model::Manifest& stored) {
  std::vector<std::string> texts;
  for (const auto& diagnostic : parse_manifests({{"f", text}}, stored).diagnostics) {
    texts.push_back(to_string(diagnostic));
  }
  return texts;
}

const std::string kBoth = std::string(kItem) + "---\n" + kStoredDeployment;

TEST(StoredManifests, AStoredItemCanBeReferredTo) {
  const ParsedManifest parsed = parse_manifests({{"f", kStoredDeployment}}, stored(kItem));
  EXPECT_TRUE(parsed.ok());
  ASSERT_EQ(parsed.documents.size(), 1u);
  EXPECT_EQ(std::get<model::Deployment>(parsed.documents[0]).run.at(0).item.value(), "web");
  EXPECT_FALSE(parse_manifests({{"f", kStoredDeployment}}, {}).ok());
}

TEST(StoredManifests, CanBeLaidOverWithoutThem) {
  EXPECT_TRUE(parse_each({{"f", kStoredDeployment}}).ok())
      << "whether there is an item is not asked";
  EXPECT_TRUE(parse_each({{"f", kBoth}}).ok());
  EXPECT_FALSE(parse_each({{"f", kBoth}, {"g", kItem}}).ok()) << "twice";
  EXPECT_TRUE(parse_each({{"f", kBoth}, {"g", kNextVersion}}).ok());
  EXPECT_FALSE(parse_each({{"f", "kind: Nothing\n"}}).ok());
}

TEST(StoredManifests, TheSameDocumentAgainReplaces) {
  EXPECT_THAT(errors_of(kBoth, stored(kBoth)), IsEmpty());
}

TEST(StoredManifests, WhatContradictsAStoredOneIsToBlame) {
  const std::string other =
      "apiVersion: berth/v1\nkind: Deployment\nmetadata: {name: more}\n"
      "spec:\n  run:\n  - {item: web}\n";
  EXPECT_THAT(
      errors_of(other, stored(kBoth)),
      ElementsAre("f:6:5: error: spec.run[0]: item \"web\" for subject \"default\" is asked "
                  "for already, by spec.run[0] of \"base\""));
}

TEST(StoredManifests, WhatBreaksAStoredOneIsToldInTheFiles) {
  EXPECT_THAT(errors_of(kNextVersion, stored(kBoth)),
              ElementsAre("f:3:18: error: metadata.name: would break Deployment \"base\": "
                          "spec.run[0].version: is missing: item \"web\" has several versions "
                          "(1, 2)"));
}

TEST(StoredManifests, WhatWasBrokenBeforeIsNotTold) {
  model::Manifest broken = stored(kBoth);
  std::get<model::Deployment>(broken[1]).run[0].item = model::ItemId("gone");
  EXPECT_THAT(errors_of(kNextVersion, broken), IsEmpty());
}

TEST(StoredManifests, DocumentsAreGivenBackUnharmed) {
  const ParsedManifest parsed = parse_manifests({{"f", kNextVersion}}, stored(kItem));
  ASSERT_EQ(parsed.documents.size(), 1u);
  const auto& item = std::get<model::Item>(parsed.documents[0]);
  EXPECT_EQ(item.version, "2");
  EXPECT_EQ(item.images.size(), 1u);
}

}  // namespace
}  // namespace berth::codec
