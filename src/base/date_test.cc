#include "base/date.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(IsoDate, IsInUniversalTimeToTheMillisecond) {
  EXPECT_EQ(iso_date(Duration{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_date(1'000'000'000s + 1'999us), "2001-09-09T01:46:40.001Z");
}

TEST(IsoDate, KnowsLeapYearsAndTimesBefore1970) {
  EXPECT_EQ(iso_date(951'782'399s), "2000-02-28T23:59:59.000Z");
  EXPECT_EQ(iso_date(951'782'400s), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(iso_date(-1ms), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace berth
