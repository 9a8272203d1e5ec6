#include "model/document.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace berth::model {
namespace {

TEST(DocumentKinds, EachIsFoundByItsName) {
  for (const DocumentKind& kind : document_kinds()) {
    EXPECT_EQ(find_document_kind(kind.name), &kind);
  }
  EXPECT_EQ(find_document_kind("Nonsense"), nullptr);
}

TEST(DocumentKinds, NoWordMeansTwoOfThem) {
  std::set<std::string_view> words;
  for (const DocumentKind& kind : document_kinds()) {
    EXPECT_TRUE(words.insert(kind.singular).second) << kind.singular;
    EXPECT_TRUE(words.insert(kind.plural).second) << kind.plural;
    for (const std::string_view word : kind.shorter) {
      EXPECT_TRUE(word.empty() || words.insert(word).second) << word;
    }
  }
}

TEST(DocumentKinds, WhatIsToComeIsNotThere) {
  for (const std::string_view name : kKindsToCome) EXPECT_EQ(find_document_kind(name), nullptr);
}

TEST(DocumentKinds, OnlyNodesAreNotKept) {
  std::vector<std::string_view> not_kept;
  for (const DocumentKind& kind : document_kinds()) {
    if (!kind.is_kept) not_kept.push_back(kind.name);
  }
  EXPECT_EQ(not_kept, std::vector<std::string_view>{"Node"});
}

TEST(DocumentIds, HaveTheVersionWhereThereIsOne) {
  Item item;
  item.id = ItemId("web");
  item.version = "1.0.0";
  EXPECT_EQ(id_of(Document(item)), "web@1.0.0");
  EXPECT_EQ(name_of(Document(item)), "web");
  EXPECT_EQ(id_of(Document(Subject{.id = SubjectId("car")})), "car");
}

TEST(DocumentIds, HaveTheNamespaceWhereThereIsOne) {
  Application application;
  application.name = "echo";
  EXPECT_EQ(id_of(Document(application)), "default/echo");
  application.ns = "games";
  EXPECT_EQ(id_of(Document(application)), "games/echo");
  EXPECT_EQ(id_meant_by(kind_of(application), "echo"), "default/echo");
  EXPECT_EQ(id_meant_by(kind_of(application), "games/echo"), "games/echo");
  EXPECT_EQ(id_meant_by(kind_of(Namespace{"games"}), "games"), "games");
}

TEST(DocumentIds, AreOfTheKindOfTheDocument) {
  Deployment deployment;
  deployment.name = "base";
  EXPECT_EQ(kind_of(Document(deployment)).plural, "deployments");
}

}  // namespace
}  // namespace berth::model
