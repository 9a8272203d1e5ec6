#include "cli/ask/kinds.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

TEST(Kinds, AreKnownByAnyOfTheirWordsInAnyCase) {
  EXPECT_EQ(parse_kind("dep").value(), Kind::Deployment);
  EXPECT_EQ(parse_kind("Deployment").value(), Kind::Deployment);
  EXPECT_EQ(parse_kind("deployments").value(), Kind::Deployment);
  EXPECT_EQ(parse_kind("no").value(), Kind::Node);
  EXPECT_FALSE(parse_kind("thing"));
}

TEST(Kinds, ANodeIsWhatIsObservedAndNoDocument) {
  EXPECT_FALSE(is_document(parse_kind("node").value()));
  EXPECT_TRUE(is_document(parse_kind("subject").value()));
}

TEST(Kinds, WhatRefersToOthersRanksHigher) {
  EXPECT_GT(rank_of(Kind::Deployment), rank_of(Kind::Item));
}

TEST(Kinds, TheHelpNamesAllOfThem) {
  for (const std::string& word : kind_words()) {
    EXPECT_NE(kinds_help().find(word + " ("), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace berth::cli
