#include "base/monitor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <map>
#include <string>

#include "base/random.h"

namespace berth {
namespace {

const Time kBegin = Time{} + 100s;

// Counts what is done with keys: all work that can depend on how many there are.
struct CountedKey {
  static inline std::size_t work = 0;

  int value = 0;

  friend bool operator==(const CountedKey& a, const CountedKey& b) {
    ++work;
    return a.value == b.value;
  }
};

}  // namespace
}  // namespace berth

template <>
struct std::hash<berth::CountedKey> {
  std::size_t operator()(const berth::CountedKey& key) const noexcept {
    ++berth::CountedKey::work;
    return std::hash<int>{}(key.value);
  }
};

namespace berth {
namespace {

TEST(Monitor, WhoIsSilentForAsLongAsAllowedIsStale) {
  Monitor<std::string> monitor;
  EXPECT_EQ(monitor.next(10s), std::nullopt);
  monitor.touch("a", kBegin);
  monitor.touch("b", kBegin + 1s);
  EXPECT_EQ(monitor.next(10s), kBegin + 10s);
  EXPECT_TRUE(monitor.take_stale(kBegin + 10s - 1us, 10s).empty());
  EXPECT_EQ(monitor.take_stale(kBegin + 10s, 10s), std::vector<std::string>{"a"});
  EXPECT_TRUE(monitor.take_stale(kBegin + 10s, 10s).empty()) << "it is told once";
  EXPECT_EQ(monitor.next(10s), kBegin + 11s);
}

TEST(Monitor, AReportPutsOffTheEnd) {
  Monitor<std::string> monitor;
  monitor.touch("a", kBegin);
  monitor.touch("b", kBegin);
  monitor.touch("a", kBegin + 5s);
  EXPECT_EQ(monitor.last_report("a"), kBegin + 5s);
  EXPECT_EQ(monitor.take_stale(kBegin + 60s, 10s), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(monitor.size(), 0U);
  EXPECT_EQ(monitor.last_report("a"), std::nullopt);
}

TEST(Monitor, NobodyWaitsForWhoIsForgotten) {
  Monitor<std::string> monitor;
  monitor.touch("a", kBegin);
  monitor.forget("a");
  monitor.forget("unknown");
  EXPECT_EQ(monitor.next(10s), std::nullopt);
  monitor.touch("a", kBegin + 1s);
  EXPECT_EQ(monitor.next(10s), kBegin + 11s);
}

TEST(Monitor, AgreesWithASearchThroughAllOverRandomHistories) {
  Random random(11);
  Monitor<int> monitor;
  std::map<int, std::pair<Time, int>> model;  // with the order of reports at one time
  Time now = kBegin;
  for (int i = 0; i < 5'000; ++i) {
    now += Duration(random.below(3));
    const int key = static_cast<int>(random.below(40));
    if (random.below(3) != 0) {
      monitor.touch(key, now);
      model[key] = {now, i};
    } else if (random.below(4) == 0) {
      monitor.forget(key);
      model.erase(key);
    }
    const Duration patience(20 + static_cast<int>(random.below(3)));
    std::vector<std::pair<std::pair<Time, int>, int>> late;
    for (const auto& [each, report] : model) {
      if (now - report.first >= patience) late.emplace_back(report, each);
    }
    std::ranges::sort(late);
    std::vector<int> expected;
    for (const auto& [report, each] : late) expected.push_back(each);
    ASSERT_EQ(monitor.take_stale(now, patience), expected);
    for (const int each : expected) model.erase(each);
    ASSERT_EQ(monitor.size(), model.size());
  }
}

// What it takes with few and with many others.
template <class Act>
std::size_t work_among(int others, Act act) {
  Monitor<CountedKey> monitor;
  for (int i = 0; i < 10; ++i) monitor.touch({i}, kBegin);
  for (int i = 0; i < others; ++i) monitor.touch({1000 + i}, kBegin + 1s);
  CountedKey::work = 0;
  act(monitor);
  return CountedKey::work;
}

TEST(Monitor, WhatItTakesDoesNotDependOnHowManyThereAre) {
  const auto touch = [](auto& monitor) { monitor.touch({5}, kBegin + 2s); };
  const auto forget = [](auto& monitor) { monitor.forget({5}); };
  const auto find_none = [](auto& monitor) {
    EXPECT_TRUE(monitor.take_stale(kBegin + 9s, 10s).empty());
    EXPECT_EQ(monitor.next(10s), kBegin + 10s);
  };
  const auto find_ten = [](auto& monitor) {
    EXPECT_EQ(monitor.take_stale(kBegin + 10s, 10s).size(), 10U);
  };
  for (const int others : {10, 100'000}) {
    EXPECT_EQ(work_among(others, touch), 2U) << "hashed once, compared once";
    EXPECT_EQ(work_among(others, forget), 4U);
    EXPECT_EQ(work_among(others, find_none), 0U);
    EXPECT_EQ(work_among(others, find_ten), 20U);
  }
}

}  // namespace
}  // namespace berth
