#include "controld/watch/topics.h"

#include <gtest/gtest.h>

namespace berth::controld {
namespace {

TEST(Topics, AreWhatIsObservedAndEveryKindOfDocumentThatIsKept) {
  EXPECT_EQ(parse_topics("nodes,deployments,events").value(),
            (Topics{"nodes", "deployments", "events"}));
}

TEST(Topics, WhatCannotBeWatchedIsToldWithWhatCan) {
  const auto wrong = parse_topics("instances,deployment");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::InvalidInput);
  EXPECT_NE(wrong.error().message.find("\"deployment\" cannot be watched"), std::string::npos);
  EXPECT_NE(wrong.error().message.find("subjects"), std::string::npos);
}

}  // namespace
}  // namespace berth::controld
