#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "store/store.h"

// What every Store promises, as tests. Included by tests only. An implementation instantiates the
// suite with a harness, default-constructed around an empty store:
//
//   struct MyHarness {
//     Store& store();                                  // the store as it is open now
//     void reopen();                                   // closed properly, opened again
//     void crash();                                    // power cut, opened again
//     void crash_in(const std::vector<Change>& batch); // power cut in the middle of committing it
//     void fail_next_commit();                         // say, the disk is full
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(My, StoreConformance, MyHarness);
namespace berth::store {

template <class Harness>
class StoreConformance : public testing::Test {
 protected:
  Store& store() { return harness_.store(); }

  void commit(const std::vector<Change>& batch) {
    const auto done = store().commit(batch);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::optional<std::string> get(std::string_view key) {
    auto value = store().get(key);
    EXPECT_TRUE(value) << value.error().message;
    return value ? *value : std::nullopt;
  }

  std::vector<Entry> list(std::string_view prefix = "") {
    auto entries = store().list(prefix);
    EXPECT_TRUE(entries) << entries.error().message;
    return entries ? *entries : std::vector<Entry>{};
  }

  Revision revision() {
    const auto now = store().revision();
    EXPECT_TRUE(now) << now.error().message;
    return now.value_or(0);
  }

  // Nullopt: not all of it is known.
  std::optional<std::vector<Commit>> since(Revision revision) {
    auto commits = store().changes_since(revision);
    EXPECT_TRUE(commits) << commits.error().message;
    return commits ? *commits : std::nullopt;
  }

  std::vector<std::string> keys(std::string_view prefix = "") {
    std::vector<std::string> found;
    for (const Entry& entry : list(prefix)) found.push_back(entry.key);
    return found;
  }

  Harness harness_;
};

TYPED_TEST_SUITE_P(StoreConformance);

TYPED_TEST_P(StoreConformance, IsEmptyAtFirst) { EXPECT_TRUE(this->list().empty()); }

TYPED_TEST_P(StoreConformance, AMissingKeyIsAnAnswerNotAnError) {
  EXPECT_EQ(this->get("missing"), std::nullopt);
  this->commit({{"missing/child", "x"}});
  EXPECT_EQ(this->get("missing"), std::nullopt);
}

TYPED_TEST_P(StoreConformance, GivesWhatWasPut) {
  this->commit({{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(this->get("a"), "1");
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "1"}, {"b", "2"}}));
}

TYPED_TEST_P(StoreConformance, APutReplaces) {
  this->commit({{"a", "a long value"}});
  this->commit({{"a", "1"}});
  EXPECT_EQ(this->get("a"), "1");
  EXPECT_EQ(this->list().size(), 1U);
}

TYPED_TEST_P(StoreConformance, AnEraseTakesOneKeyAway) {
  this->commit({{"a", "1"}, {"ab", "2"}});
  this->commit({{"a", std::nullopt}});
  EXPECT_EQ(this->get("a"), std::nullopt);
  EXPECT_EQ(this->get("ab"), "2");
}

TYPED_TEST_P(StoreConformance, ErasingWhatIsNotThereDoesNothing) {
  this->commit({{"a", "1"}});
  this->commit({{"b", std::nullopt}});
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "1"}}));
}

TYPED_TEST_P(StoreConformance, InABatchTheLastChangeOfAKeyWins) {
  this->commit({{"a", "1"}, {"a", "2"}, {"b", "1"}, {"b", std::nullopt}});
  this->commit({{"c", std::nullopt}, {"c", "3"}});
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "2"}, {"c", "3"}}));
}

TYPED_TEST_P(StoreConformance, AnEmptyBatchChangesNothing) {
  this->commit({{"a", "1"}});
  this->commit({});
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "1"}}));
}

TYPED_TEST_P(StoreConformance, AnEmptyValueIsAValue) {
  this->commit({{"a", ""}});
  EXPECT_EQ(this->get("a"), "");
  this->harness_.reopen();
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", ""}}));
}

TYPED_TEST_P(StoreConformance, KeysAndValuesAreAnyBytes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  this->commit({{all, all}, {std::string("\0", 1), std::string("\0\0", 2)}});
  this->harness_.reopen();
  EXPECT_EQ(this->get(all), all);
  EXPECT_EQ(this->get(std::string_view("\0", 1)), std::string("\0\0", 2));
  EXPECT_EQ(this->get(std::string_view("\0\0", 2)), std::nullopt);
}

TYPED_TEST_P(StoreConformance, KeysAreOrderedByTheirBytes) {
  std::vector<Change> batch;
  std::vector<std::string> ordered;
  for (int byte = 0; byte < 256; ++byte) ordered.push_back({'k', static_cast<char>(byte)});
  for (int i = 0; i < 256; ++i) {
    batch.push_back({ordered[static_cast<std::size_t>(i * 37 % 256)], "v"});
  }
  this->commit(batch);
  EXPECT_EQ(this->keys(), ordered);
}

TYPED_TEST_P(StoreConformance, AShorterKeyComesBeforeItsExtensions) {
  this->commit({{"ab", "3"}, {"a", "1"}, {std::string("a\0", 2), "2"}});
  EXPECT_EQ(this->keys("a"), (std::vector<std::string>{"a", std::string("a\0", 2), "ab"}));
}

TYPED_TEST_P(StoreConformance, AListHasExactlyWhatStartsWithThePrefix) {
  this->commit({{"node", "0"},
                {"node/", "1"},
                {"node/a", "2"},
                {"node/b/c", "3"},
                {"node0", "4"},
                {"nod", "5"},
                {"Node/a", "6"}});
  EXPECT_EQ(this->keys("node/"), (std::vector<std::string>{"node/", "node/a", "node/b/c"}));
  EXPECT_TRUE(this->keys("node/x").empty());
  EXPECT_TRUE(this->keys("zzz").empty());
}

TYPED_TEST_P(StoreConformance, AnEmptyPrefixListsAll) {
  this->commit({{"b", "2"}, {"a", "1"}, {std::string("\xff"), "3"}});
  EXPECT_EQ(this->keys(""), (std::vector<std::string>{"a", "b", "\xff"}));
}

TYPED_TEST_P(StoreConformance, APrefixMayEndInTheHighestByte) {
  this->commit({{"a\xfe", "0"},
                {"a\xff", "1"},
                {"a\xff\x01", "2"},
                {"a\xff\xff", "3"},
                {"b", "4"},
                {"\xff", "5"},
                {"\xff\xff\xff", "6"}});
  EXPECT_EQ(this->keys("a\xff"), (std::vector<std::string>{"a\xff", "a\xff\x01", "a\xff\xff"}));
  EXPECT_EQ(this->keys("\xff"), (std::vector<std::string>{"\xff", "\xff\xff\xff"}));
  EXPECT_EQ(this->keys("\xff\xff"), (std::vector<std::string>{"\xff\xff\xff"}));
}

TYPED_TEST_P(StoreConformance, PrefixesAreTakenLiterally) {
  this->commit({{"a%b", "1"}, {"a_b", "2"}, {"axb", "3"}, {"a*b", "4"}, {"A%b", "5"}});
  EXPECT_EQ(this->keys("a%"), (std::vector<std::string>{"a%b"}));
  EXPECT_EQ(this->keys("a_"), (std::vector<std::string>{"a_b"}));
  EXPECT_EQ(this->keys("a*"), (std::vector<std::string>{"a*b"}));
}

TYPED_TEST_P(StoreConformance, ValuesOfAMebibyteAreKept) {
  std::string large(1 << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 / 7);
  this->commit({{"large", large}, {"small", "1"}});
  this->harness_.reopen();
  EXPECT_TRUE(this->get("large") == large);
  EXPECT_EQ(this->get("small"), "1");
}

TYPED_TEST_P(StoreConformance, WhatWasCommittedIsThereAfterReopening) {
  this->commit({{"a", "1"}, {"b", "2"}});
  this->commit({{"a", std::nullopt}, {"c", "3"}});
  this->harness_.reopen();
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"b", "2"}, {"c", "3"}}));
}

TYPED_TEST_P(StoreConformance, WhatCommitReturnedForIsThereAfterACrash) {
  this->commit({{"a", "1"}, {"b", "2"}});
  this->commit({{"a", "2"}, {"b", std::nullopt}});
  this->harness_.crash();
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "2"}}));
  this->commit({{"c", "3"}});
  this->harness_.crash();
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "2"}, {"c", "3"}}));
}

TYPED_TEST_P(StoreConformance, AnUnfinishedBatchIsThereWhollyOrNotAtAll) {
  const std::vector<Entry> before{{"a", "1"}, {"b", "2"}};
  const std::vector<Entry> after{{"a", "3"}, {"c", std::string(10'000, 'x')}};
  this->commit({{"a", "1"}, {"b", "2"}});
  this->harness_.crash_in({{"a", "3"}, {"b", std::nullopt}, {"c", std::string(10'000, 'x')}});
  const std::vector<Entry> now = this->list();
  EXPECT_TRUE(now == before || now == after);
  this->commit({{"d", "4"}});
  EXPECT_EQ(this->list().size(), now.size() + 1);
}

TYPED_TEST_P(StoreConformance, AFailedCommitLeavesNothingBehind) {
  this->commit({{"a", "1"}, {"b", "2"}});
  this->harness_.fail_next_commit();
  const auto failed =
      this->store().commit({{"a", "9"}, {"b", std::nullopt}, {"c", std::string(100'000, 'x')}});
  ASSERT_FALSE(failed);
  EXPECT_FALSE(failed.error().message.empty());
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "1"}, {"b", "2"}}));
  this->harness_.reopen();
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "1"}, {"b", "2"}}));
}

TYPED_TEST_P(StoreConformance, AStoreIsUsableAfterAFailedCommit) {
  this->harness_.fail_next_commit();
  ASSERT_FALSE(this->store().commit({{"a", "1"}}));
  this->commit({{"b", "2"}});
  this->harness_.crash();
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"b", "2"}}));
}

// --- The fence

TYPED_TEST_P(StoreConformance, AFenceThatHoldsLetsTheBatchIn) {
  ASSERT_TRUE(this->store().commit_if(Fence{"owner", std::nullopt}, {{"owner", "1"}}));
  ASSERT_TRUE(this->store().commit_if(Fence{"owner", "1"}, {{"a", "1"}, {"owner", "2"}}));
  this->harness_.crash();
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"a", "1"}, {"owner", "2"}}));
}

TYPED_TEST_P(StoreConformance, AFenceThatDoesNotHoldKeepsEverythingOut) {
  this->commit({{"owner", "2"}});
  const Revision before = this->revision();
  for (const Fence& fence : {Fence{"owner", "1"}, Fence{"owner", std::nullopt}, Fence{"owner", ""},
                             Fence{"other", "2"}}) {
    const auto refused = this->store().commit_if(fence, {{"a", "1"}, {"owner", "3"}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::Conflict);
  }
  EXPECT_EQ(this->list(), (std::vector<Entry>{{"owner", "2"}}));
  EXPECT_EQ(this->revision(), before);
  EXPECT_EQ(this->since(before), std::vector<Commit>());
}

TYPED_TEST_P(StoreConformance, AFullStoreIsNotTakenForAFence) {
  this->commit({{"owner", "1"}});
  this->harness_.fail_next_commit();
  const auto failed =
      this->store().commit_if(Fence{"owner", "1"}, {{"a", std::string(100'000, 'x')}});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().code, Code::Conflict);
}

// --- Following

TYPED_TEST_P(StoreConformance, EachCommitIsARevision) {
  const Revision first = this->revision();
  this->commit({{"a", "1"}});
  EXPECT_EQ(this->revision(), first + 1);
  this->commit({});
  EXPECT_EQ(this->revision(), first + 1) << "nothing has changed";
  this->commit({{"a", std::nullopt}, {"b", "2"}});
  EXPECT_EQ(this->revision(), first + 2);
  this->harness_.reopen();
  EXPECT_EQ(this->revision(), first + 2);
  this->harness_.crash();
  EXPECT_EQ(this->revision(), first + 2);
}

TYPED_TEST_P(StoreConformance, AFailedCommitIsNoRevision) {
  const Revision before = this->revision();
  this->harness_.fail_next_commit();
  ASSERT_FALSE(this->store().commit({{"a", std::string(100'000, 'x')}}));
  EXPECT_EQ(this->revision(), before);
  EXPECT_EQ(this->since(before), std::vector<Commit>());
}

TYPED_TEST_P(StoreConformance, WhoFollowsGetsEveryCommitInOrder) {
  const Revision start = this->revision();
  const std::vector<Change> first{{"b", "1"}, {"a", "1"}, {"b", "2"}};
  const std::vector<Change> second{{"a", std::nullopt}};
  this->commit(first);
  this->commit(second);
  const std::vector<Commit> all{{start + 1, first}, {start + 2, second}};
  EXPECT_EQ(this->since(start), all);
  EXPECT_EQ(this->since(start + 1), std::vector<Commit>{all[1]});
  EXPECT_EQ(this->since(start + 2), std::vector<Commit>());
}

TYPED_TEST_P(StoreConformance, ARevisionThatNeverWasCannotBeFollowed) {
  EXPECT_EQ(this->since(this->revision() + 1), std::nullopt);
}

TYPED_TEST_P(StoreConformance, WhatIsLongAgoIsForgottenAndSaid) {
  const Revision start = this->revision();
  for (int i = 0; i < 100; ++i) this->commit({{"a", std::string(100'000, 'x')}});
  EXPECT_EQ(this->since(start), std::nullopt) << "the history is bounded";
  this->commit({{"b", "1"}});
  const Revision now = this->revision();
  EXPECT_EQ(this->since(now - 1), (std::vector<Commit>{{now, {{"b", "1"}}}}));
}

// What is not known is never passed over.
TYPED_TEST_P(StoreConformance, AfterACrashOneFollowsWhollyOrBeginsAnew) {
  const Revision start = this->revision();
  this->commit({{"a", "1"}});
  this->harness_.crash();
  this->commit({{"b", "2"}});
  const auto commits = this->since(start);
  EXPECT_TRUE(!commits || commits->size() == 2);
  EXPECT_EQ(this->since(start + 1), (std::vector<Commit>{{start + 2, {{"b", "2"}}}}));
}

// The naive model is a sorted vector; the store must agree with it after every batch, reopening and
// crash.
TYPED_TEST_P(StoreConformance, AgreesWithASortedListOverRandomHistories) {
  Random random(20240607);
  std::vector<Entry> model;
  const auto put = [&model](const Change& change) {
    const auto at = std::lower_bound(
        model.begin(), model.end(), change.key,
        [](const Entry& entry, const std::string& key) { return entry.key < key; });
    const bool is_there = at != model.end() && at->key == change.key;
    if (change.value && is_there) at->value = *change.value;
    if (change.value && !is_there) model.insert(at, {change.key, *change.value});
    if (!change.value && is_there) model.erase(at);
  };
  for (int round = 0; round < 150; ++round) {
    std::vector<Change> batch(random.below(8));
    for (Change& change : batch) {
      change.key = {'k', static_cast<char>(random.below(4) * 85)};
      if (random.below(2) == 0) change.key.push_back(static_cast<char>(random.below(256)));
      if (random.below(3) != 0) change.value = std::to_string(random.below(1000));
    }
    this->commit(batch);
    for (const Change& change : batch) put(change);
    if (random.below(10) == 0) this->harness_.reopen();
    if (random.below(10) == 0) this->harness_.crash();
    ASSERT_EQ(this->list(), model);
  }
}

REGISTER_TYPED_TEST_SUITE_P(
    StoreConformance, IsEmptyAtFirst, AMissingKeyIsAnAnswerNotAnError, GivesWhatWasPut,
    APutReplaces, AnEraseTakesOneKeyAway, ErasingWhatIsNotThereDoesNothing,
    InABatchTheLastChangeOfAKeyWins, AnEmptyBatchChangesNothing, AnEmptyValueIsAValue,
    KeysAndValuesAreAnyBytes, KeysAreOrderedByTheirBytes, AShorterKeyComesBeforeItsExtensions,
    AListHasExactlyWhatStartsWithThePrefix, AnEmptyPrefixListsAll, APrefixMayEndInTheHighestByte,
    PrefixesAreTakenLiterally, ValuesOfAMebibyteAreKept, WhatWasCommittedIsThereAfterReopening,
    WhatCommitReturnedForIsThereAfterACrash, AnUnfinishedBatchIsThereWhollyOrNotAtAll,
    AFailedCommitLeavesNothingBehind, AStoreIsUsableAfterAFailedCommit,
    AFenceThatHoldsLetsTheBatchIn, AFenceThatDoesNotHoldKeepsEverythingOut,
    AFullStoreIsNotTakenForAFence, EachCommitIsARevision, AFailedCommitIsNoRevision,
    WhoFollowsGetsEveryCommitInOrder, ARevisionThatNeverWasCannotBeFollowed,
    WhatIsLongAgoIsForgottenAndSaid, AfterACrashOneFollowsWhollyOrBeginsAnew,
    AgreesWithASortedListOverRandomHistories);

}  // namespace berth::store
