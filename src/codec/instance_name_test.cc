#include "codec/instance_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::codec {
namespace {

using model::InstanceKey;
using model::ItemId;
using model::SubjectId;
using ::testing::HasSubstr;

InstanceKey key(const char* item, const char* subject, std::uint32_t index) {
  return {ItemId(item), SubjectId(subject), index};
}

const std::set<InstanceKey> kKnown{key("broker", "default", 0), key("broker", "vehicle", 0),
                                   key("telemetry", "vehicle", 0), key("telemetry", "vehicle", 1)};

TEST(FindInstance, FillsInWhatIsLeftOut) {
  EXPECT_EQ(*find_instance("telemetry/vehicle/1", kKnown), key("telemetry", "vehicle", 1));
  EXPECT_EQ(*find_instance("instance/telemetry/vehicle", kKnown), key("telemetry", "vehicle", 0));
  EXPECT_EQ(*find_instance("telemetry", kKnown), key("telemetry", "vehicle", 0));
  EXPECT_EQ(*find_instance("broker", kKnown), key("broker", "default", 0));
}

TEST(FindInstance, SuggestsByThePartThatIsWrong) {
  EXPECT_THAT(find_instance("telemtry", kKnown).error().message,
              HasSubstr("Did you mean \"telemetry\"?"));
  EXPECT_THAT(find_instance("broker/vehicel", kKnown).error().message,
              HasSubstr("Did you mean broker/default or broker/vehicle?"));
  EXPECT_THAT(find_instance("telemetry/vehicle/7", kKnown).error().message,
              HasSubstr("last index is 1"));
  EXPECT_EQ(find_instance("nothing-like-it", kKnown).error().code, Code::NotFound);
}

TEST(FindInstance, RefusesWhatIsNoName) {
  for (const char* name : {"", "/", "a/b/c/d", "a/b/x", "a/b/-1", "a/b/99999999999"}) {
    EXPECT_EQ(find_instance(name, kKnown).error().code, Code::InvalidInput) << name;
  }
}

}  // namespace
}  // namespace berth::codec
