#include "control/state.h"

#include <gtest/gtest.h>

namespace berth::control {
namespace {

model::Subject absent(const char* id) { return {.id = model::SubjectId(id), .present = false}; }

TEST(State, WritesWhatChangesAndNothingElse) {
  State state(Durable{});
  state.put(absent("vehicle"));
  state.put(absent("vehicle"));
  const std::vector<Write> writes = state.seal();
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(writes.front(), put_write(absent("vehicle")));
  EXPECT_EQ(to_string(writes.back().table), "counters");
}

TEST(State, ErasesUnderTheKeyThatItWasPutUnder) {
  State state(Durable{});
  state.put(absent("vehicle"));
  const std::string key = state.seal().front().key;
  state.begin_step();
  state.erase<model::Subject>(model::SubjectId("vehicle"));
  EXPECT_EQ(state.seal().front(), (Write{table_of<model::Subject>(), key, std::nullopt}));
}

TEST(StateDeathTest, AChangeAfterTheStepWasSealedIsABug) {
  State state(Durable{});
  state.seal();
  EXPECT_DEATH(state.put(absent("vehicle")), "sealed");
  EXPECT_DEATH(state.erase<model::Subject>(model::SubjectId("vehicle")), "sealed");
  EXPECT_DEATH(state.need_new_revision(), "sealed");
}

TEST(State, CanBeChangedAgainInTheNextStep) {
  State state(Durable{});
  state.seal();
  state.begin_step();
  state.put(absent("vehicle"));
  EXPECT_TRUE(state.has_changes());
}

}  // namespace
}  // namespace berth::control
