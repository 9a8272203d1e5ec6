#include "placement/relief_search.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::placement {
namespace {

using Set = ReliefSearch::Set;

constexpr model::Usage kNodeCapacity{Dmips{1000}, Bytes{1000}};

std::vector<ReliefSearch::Mover> using_cpu(const std::vector<std::int64_t>& amounts) {
  std::vector<ReliefSearch::Mover> movers;
  for (const std::int64_t cpu : amounts) movers.push_back({.usage = {Dmips{cpu}, {}}});
  return movers;
}

std::vector<Set> all_sets(ReliefSearch search) {
  std::vector<Set> sets;
  while (const auto set = search.next()) sets.push_back(*set);
  return sets;
}

std::optional<Set> best_of(const std::vector<std::int64_t>& cpu, std::int64_t need) {
  return ReliefSearch(using_cpu(cpu), {Dmips{need}, {}}, kNodeCapacity).next();
}

TEST(ReliefSearch, TakesTheSmallestOneThatDoesAlone) {
  EXPECT_EQ(best_of({10, 300, 120, 100, 90}, 100), (Set{3}));
}

TEST(ReliefSearch, TakesFewBigOnesRatherThanManySmallOnes) {
  EXPECT_EQ(best_of({40, 40, 40, 200}, 110), (Set{3}));
}

TEST(ReliefSearch, TakesTheFirstOfEquals) { EXPECT_EQ(best_of({50, 50, 50}, 100), (Set{0, 1})); }

TEST(ReliefSearch, GivesNothingIfAllTogetherAreTooLittle) {
  EXPECT_EQ(best_of({10, 20, 30}, 61), std::nullopt);
  EXPECT_EQ(best_of({10, 20, 30}, 60), (Set{0, 1, 2}));
  EXPECT_EQ(best_of({}, 1), std::nullopt);
}

TEST(ReliefSearch, LooksAtBothResources) {
  const std::vector<ReliefSearch::Mover> movers{
      {.usage = {Dmips{100}, Bytes{0}}},
      {.usage = {Dmips{0}, Bytes{100}}},
      {.usage = {Dmips{60}, Bytes{60}}},
      {.usage = {Dmips{40}, Bytes{50}}},
  };
  ReliefSearch search(movers, {Dmips{100}, Bytes{100}}, kNodeCapacity);
  EXPECT_EQ(search.next(), (Set{0, 1}));
  EXPECT_EQ(search.next(), (Set{2, 3}));
}

TEST(ReliefSearch, GivesEverySetWithoutSuperfluousMembersOnceTheBestFirst) {
  const std::vector<Set> sets =
      all_sets({using_cpu({30, 50, 20, 30}), {Dmips{50}, {}}, kNodeCapacity});
  EXPECT_EQ(sets, (std::vector<Set>{{1}, {0, 2}, {2, 3}, {0, 3}}));
}

TEST(ReliefSearch, GivesOnlySetsWithOneOfTheRequired) {
  auto movers = using_cpu({50, 60, 70});
  movers[2].is_required = true;
  EXPECT_EQ(all_sets({movers, {Dmips{50}, {}}, kNodeCapacity}), (std::vector<Set>{{2}}));
}

TEST(ReliefSearch, EndsSoonWithAThousandInstances) {
  Random random(1);
  std::vector<std::int64_t> amounts;
  for (int i = 0; i < 1000; ++i) amounts.push_back(random.between(1, 1'000'000));
  ReliefSearch search(using_cpu(amounts), {Dmips{30'000'000}, {}}, {Dmips{600'000'000}, Bytes{1}});
  const auto set = search.next();
  ASSERT_TRUE(set);
  std::int64_t taken = 0;
  for (const std::size_t i : *set) taken += amounts[i];
  EXPECT_GE(taken, 30'000'000);
  EXPECT_EQ(set->size(), 31U) << "the thirty greatest are a little too small";
}

TEST(ReliefSearch, GivesGoodSetsWhereItCannotLookAtAll) {
  const std::vector<std::int64_t> amounts(5000, 7);
  ReliefSearch search(using_cpu(amounts), {Dmips{7000}, {}}, {Dmips{50'000}, Bytes{1}});
  const auto set = search.next();
  ASSERT_TRUE(set);
  EXPECT_EQ(set->size(), 1000U);
}

}  // namespace
}  // namespace berth::placement
