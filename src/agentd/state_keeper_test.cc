#include "agentd/state_keeper.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "agentd/testing/fakes.h"
#include "trust/digest.h"

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;

class StateKeeperTest : public ::testing::Test {
 protected:
  StateKeeperTest() {
    std::string pattern = (fs::temp_directory_path() / "berth-states-XXXXXX").string();
    base_ = ::mkdtemp(pattern.data());
    spec_ = testing::a_spec("web");
    spec_.uid = 12'345;
    spec_.gid = 12'346;
  }
  ~StateKeeperTest() override {
    std::error_code ignored;
    fs::remove_all(base_, ignored);
  }

  fs::path directory(const std::string& machine) const {
    return runtime::state_directory(base_ / machine, spec_.key);
  }
  runtime::MachineConfig machine(const std::string& name) const {
    fs::create_directories(base_ / name);
    return {.state_dir = base_ / name};
  }
  static std::string read(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& machine, const std::string& file, const std::string& text) const {
    fs::create_directories(directory(machine));
    std::ofstream(directory(machine) / file) << text;
  }
  static model::SavedState as_saved(const agent::StateSaved& state, std::uint64_t generation) {
    return {state.key, generation, state.digest, state.content};
  }

  fs::path base_;
  model::InstanceSpec spec_;
};

TEST_F(StateKeeperTest, SaysWhatHasChangedAndOnlyThat) {
  StateKeeper keeper(machine("a"));
  EXPECT_FALSE(keeper.look(spec_.key));
  write("a", "count", "1");
  const auto first = keeper.look(spec_.key);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->size, Bytes(1));
  EXPECT_EQ(first->digest, trust::sha256(first->content));
  EXPECT_FALSE(keeper.look(spec_.key));
  write("a", "count", "22");
  EXPECT_TRUE(keeper.look(spec_.key));
  fs::remove(directory("a") / "count");
  EXPECT_TRUE(keeper.look(spec_.key)) << "an empty state is a change too";
}

TEST_F(StateKeeperTest, ANewRunSaysWhatItFindsWhateverWasSaidBefore) {
  StateKeeper keeper(machine("a"));
  write("a", "count", "1");
  ASSERT_TRUE(keeper.look(spec_.key));
  ASSERT_FALSE(keeper.look(spec_.key));
  keeper.begin(spec_.key);
  EXPECT_TRUE(keeper.look(spec_.key));
}

TEST_F(StateKeeperTest, WhatIsTooLargeHasNoDigest) {
  StateKeeper keeper(machine("a"));
  write("a", "large", std::string(3 << 20, 'x'));
  const auto saved = keeper.look(spec_.key);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->digest, "");
  EXPECT_EQ(saved->size, Bytes(3 << 20));
}

// A controller that hands over what was taken before has not heard what has become of it since.
TEST_F(StateKeeperTest, SaysWhatIsThereAfterAStateThatWasTakenBefore) {
  StateKeeper source(machine("a"));
  write("a", "count", "41");
  const auto handed = as_saved(*source.look(spec_.key), 7);
  StateKeeper target(machine("b"));
  ASSERT_TRUE(target.take(spec_, handed));
  write("b", "count", "42");
  const auto said = target.look(spec_.key);
  ASSERT_TRUE(said);
  ASSERT_TRUE(target.take(spec_, handed));
  const auto again = target.look(spec_.key);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->digest, said->digest);
}

TEST_F(StateKeeperTest, TakesAStateToAnotherMachine) {
  StateKeeper source(machine("a"));
  write("a", "count", "41");
  const model::SavedState state = as_saved(*source.look(spec_.key), 5);
  write("b", "left", "from an earlier stay");
  StateKeeper target(machine("b"));
  const auto taken = target.take(spec_, state);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(read(directory("b") / "count"), "41");
  EXPECT_FALSE(fs::exists(directory("b") / "left"));
  if (::geteuid() != 0) return;
  struct stat file {};
  ASSERT_EQ(::stat((directory("b") / "count").c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, spec_.uid);
  EXPECT_EQ(file.st_gid, spec_.gid);
}

TEST_F(StateKeeperTest, TakesAGenerationOnlyOnce) {
  StateKeeper keeper(machine("a"));
  write("a", "count", "41");
  const agent::StateSaved saved = *keeper.look(spec_.key);
  ASSERT_TRUE(keeper.take(spec_, as_saved(saved, 5)));
  write("a", "count", "42");
  ASSERT_TRUE(keeper.take(spec_, as_saved(saved, 5)));
  EXPECT_EQ(read(directory("a") / "count"), "42") << "a run has gone on from it";
  ASSERT_TRUE(keeper.take(spec_, as_saved(saved, 6)));
  EXPECT_EQ(read(directory("a") / "count"), "41");
}

TEST_F(StateKeeperTest, TakesAStateOfAControllerThatCountsAnew) {
  StateKeeper keeper(machine("a"));
  write("a", "count", "41");
  ASSERT_TRUE(keeper.take(spec_, as_saved(*keeper.look(spec_.key), 5)));
  write("a", "count", "42");
  const agent::StateSaved later = *keeper.look(spec_.key);
  write("a", "count", "43");
  ASSERT_TRUE(keeper.take(spec_, as_saved(later, 1)));
  EXPECT_EQ(read(directory("a") / "count"), "42");
}

TEST_F(StateKeeperTest, SetsAsideWhatIsTooLargeToBeAnywhereElse) {
  StateKeeper keeper(machine("a"));
  write("a", "count", "41");
  const agent::StateSaved saved = *keeper.look(spec_.key);
  write("a", "large", std::string(3 << 20, 'x'));
  ASSERT_TRUE(keeper.take(spec_, as_saved(saved, 5)));
  EXPECT_EQ(read(directory("a") / "count"), "41");
  EXPECT_FALSE(fs::exists(directory("a") / "large"));
  EXPECT_TRUE(fs::exists(directory("a").string() + ".replaced/large"));
}

TEST_F(StateKeeperTest, SetsAsideWhatIsLargerThanItsQuotaToo) {
  StateKeeper keeper(machine("a"));
  spec_.item.quotas.state = Bytes(1000);
  write("a", "count", "41");
  const agent::StateSaved saved = *keeper.look(spec_.key);
  write("a", "large", std::string(1001, 'x'));
  ASSERT_TRUE(keeper.take(spec_, as_saved(saved, 5)));
  EXPECT_TRUE(fs::exists(directory("a").string() + ".replaced/large"));
}

TEST_F(StateKeeperTest, NumbersWhatItHasSeen) {
  StateKeeper keeper(machine("a"));
  write("a", "count", "41");
  const agent::StateSaved first = *keeper.look(spec_.key);
  write("a", "count", "420");
  EXPECT_LT(first.order, keeper.look(spec_.key)->order);
}

TEST_F(StateKeeperTest, NothingIsLeftOfAnInstanceThatIsErased) {
  StateKeeper keeper(machine("a"));
  write("a", "count", "41");
  const agent::StateSaved saved = *keeper.look(spec_.key);
  write("a", "large", std::string(3 << 20, 'x'));
  ASSERT_TRUE(keeper.take(spec_, as_saved(saved, 5)));
  ASSERT_TRUE(runtime::erase_instance_directories(machine("a").state_dir, spec_.key));
  EXPECT_TRUE(fs::is_empty(directory("a").parent_path()));
}

TEST_F(StateKeeperTest, RefusesWhatIsNotWhatItsDigestSays) {
  StateKeeper keeper(machine("a"));
  write("a", "count", "41");
  model::SavedState state = as_saved(*keeper.look(spec_.key), 5);
  state.content.back() = '9';
  const auto taken = keeper.take(spec_, state);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().reason, "StateDamaged");
  EXPECT_EQ(read(directory("a") / "count"), "41");
}

}  // namespace
}  // namespace berth::agentd
