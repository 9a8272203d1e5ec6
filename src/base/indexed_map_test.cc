#include "base/indexed_map.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace berth {
namespace {

using Map = IndexedMap<std::string, int>;

std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

TEST(IndexedMap, IsWalkedInTheOrderOfKeys) {
  EXPECT_EQ(keys_of({{"c", 1}, {"a", 2}, {"b", 3}}), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(IndexedMap, ACopyHasAnIndexOfItsOwn) {
  Map map{{"a", 1}};
  Map copy = map;
  map.erase("a");
  EXPECT_EQ(copy.at("a"), 1);
  copy["a"] = 2;
  map = copy;
  copy.clear();
  EXPECT_EQ(map.at("a"), 2);
}

TEST(IndexedMap, AMovedOneIsFoundInItsNewHome) {
  Map map{{"a", 1}, {"b", 2}};
  Map moved = std::move(map);
  EXPECT_EQ(moved.find("b")->second, 2);
  moved.erase("b");
  EXPECT_FALSE(moved.contains("b"));
}

TEST(IndexedMap, AnEntryCanBeErasedByItsOwnKey) {
  Map map{{"a long key that is not kept inside of the string itself", 1}, {"b", 2}};
  map.erase(map.begin()->first);
  EXPECT_EQ(keys_of(map), std::vector<std::string>{"b"});
}

TEST(IndexedMap, AMovedOneCanBeFilledAgain) {
  Map map{{"a", 1}, {"b", 2}};
  Map moved = std::move(map);
  map = Map{{"c", 3}};
  map["d"] = 4;
  EXPECT_EQ(keys_of(map), (std::vector<std::string>{"c", "d"}));
  EXPECT_FALSE(map.contains("a"));
}

TEST(IndexedMap, AnEntryCanBePutBesideAnother) {
  Map map{{"a", 1}, {"c", 3}};
  EXPECT_EQ(map.emplace_hint(map.find("c"), "b")->first, "b");
  EXPECT_EQ(map.emplace_hint(map.end(), "a")->second, 1) << "it was there";
  EXPECT_EQ(keys_of(map), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(map.contains("b"));
}

TEST(IndexedMap, AgreesWithAnOrderedMapOverRandomHistories) {
  Random random(7);
  Map map;
  std::map<std::string, int> model;
  for (int i = 0; i < 5'000; ++i) {
    const std::string key = std::to_string(random.below(50));
    switch (random.below(5)) {
      case 0: ASSERT_EQ(map.erase(key), model.erase(key)); break;
      case 1: ASSERT_EQ(map.try_emplace(key, i).second, model.try_emplace(key, i).second); break;
      case 2: map.insert_or_assign(key, i), model.insert_or_assign(key, i); break;
      case 3: map[key] += 1, model[key] += 1; break;
      default: {
        const auto odd = [](const auto& entry) { return entry.second % 7 == 0; };
        ASSERT_EQ(erase_if(map, odd), std::erase_if(model, odd));
      }
    }
    ASSERT_EQ(map.contains(key), model.contains(key));
    ASSERT_TRUE(std::equal(map.begin(), map.end(), model.begin(), model.end()));
    ASSERT_EQ(map.find(key) == map.end(), !model.contains(key));
  }
}

}  // namespace
}  // namespace berth
