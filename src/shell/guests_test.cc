#include "shell/guests.h"

#include <gtest/gtest.h>

namespace berth::shell {
namespace {

constexpr Guests::Limits kFew{.strangers = 4,
                              .strangers_of_address = 2,
                              .engaged = 3,
                              .engaged_of_address = 2,
                              .known = 3,
                              .known_of_name = 2};

Guests::Id come(Guests& guests, const std::string& address) {
  const Guests::Arrival arrival = guests.arrive(address);
  if (arrival.makes_room) guests.leave(*arrival.makes_room);
  return arrival.id;
}

TEST(Guests, TheIdlestOfAnAddressMakesRoomForTheNext) {
  Guests guests(kFew);
  const auto first = come(guests, "a");
  come(guests, "a");
  EXPECT_EQ(guests.arrive("a").makes_room, first);
}

TEST(Guests, WhoFillsThePortPushesOutItsOwnAndNobodyElse) {
  Guests guests({.strangers = 4, .strangers_of_address = 4});
  const auto other = come(guests, "b");
  const auto first = come(guests, "a");
  come(guests, "a");
  come(guests, "a");
  EXPECT_EQ(guests.strangers(), 4u);
  EXPECT_EQ(guests.arrive("c").makes_room, first);
  EXPECT_NE(first, other);
}

TEST(Guests, WhoIsWorkedForDoesNotGoForAnother) {
  Guests guests(kFew);
  EXPECT_TRUE(guests.engage(come(guests, "a")));
  const auto second = come(guests, "a");
  EXPECT_EQ(guests.arrive("a").makes_room, second);
  guests.leave(second);
  EXPECT_TRUE(guests.engage(second + 1));
  const auto last = guests.arrive("a");
  EXPECT_EQ(last.makes_room, last.id) << "nobody else can";
}

TEST(Guests, SoManyAreWorkedForAtOnce) {
  Guests guests({.strangers_of_address = 10, .engaged = 3, .engaged_of_address = 2});
  const auto first = come(guests, "a");
  EXPECT_TRUE(guests.engage(first));
  EXPECT_TRUE(guests.engage(first));
  EXPECT_TRUE(guests.engage(come(guests, "a")));
  const auto third = come(guests, "a");
  EXPECT_FALSE(guests.engage(third));
  EXPECT_TRUE(guests.engage(come(guests, "b")));
  EXPECT_FALSE(guests.engage(come(guests, "c")));
  EXPECT_TRUE(guests.recognise(first, "node/n1"));
  EXPECT_TRUE(guests.engage(third));
}

TEST(Guests, StrangersTakeNoRoomOfThoseWhoAreKnown) {
  Guests guests(kFew);
  for (int i = 0; i < 100; ++i) come(guests, "address " + std::to_string(i));
  EXPECT_EQ(guests.strangers(), 4u);
  EXPECT_TRUE(guests.recognise(come(guests, "a"), "node/n1"));
  EXPECT_TRUE(guests.recognise(come(guests, "a"), "node/n2"));
  EXPECT_EQ(guests.known(), 2u);
}

TEST(Guests, AreBoundedByNameAndInAllOnceTheyAreKnown) {
  Guests guests(kFew);
  const auto first = come(guests, "a");
  EXPECT_TRUE(guests.recognise(first, "viewer/wall"));
  EXPECT_TRUE(guests.recognise(first, "viewer/wall")) << "once is enough";
  EXPECT_TRUE(guests.recognise(come(guests, "b"), "viewer/wall"));
  EXPECT_FALSE(guests.recognise(come(guests, "c"), "viewer/wall"));
  EXPECT_TRUE(guests.recognise(come(guests, "d"), "admin/ann"));
  EXPECT_FALSE(guests.recognise(come(guests, "e"), "admin/bob"));
  const auto late = guests.arrive("f");
  EXPECT_EQ(late.makes_room, late.id);
}

TEST(Guests, WhoLeavesMakesRoom) {
  Guests guests(kFew);
  const auto first = come(guests, "a");
  const auto second = come(guests, "a");
  EXPECT_TRUE(guests.recognise(second, "viewer/wall"));
  guests.leave(first);
  guests.leave(second);
  guests.leave(second);
  EXPECT_EQ(guests.strangers() + guests.known(), 0u);
  EXPECT_FALSE(guests.recognise(second, "viewer/wall"));
  EXPECT_FALSE(guests.arrive("a").makes_room);
}

}  // namespace
}  // namespace berth::shell
