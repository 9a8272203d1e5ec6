#include <gtest/gtest.h>

#include "control/testing.h"

namespace berth::control {
namespace {

model::EnvEntry an_entry(std::optional<std::string> item, const std::string& name,
                         const std::string& value, std::optional<Duration> expires = {}) {
  model::EnvEntry entry;
  if (item) entry.item = model::ItemId{*item};
  entry.variables.push_back({.name = name, .value = value, .expires = expires});
  return entry;
}

model::EnvOverride an_override(const std::string& name, std::vector<model::EnvEntry> entries) {
  return {.name = name, .entries = std::move(entries)};
}

class Overrides : public testing::Test {
 protected:
  Overrides() {
    driver.join("n1");
    driver.apply({a_service("web").env("level", "info"), a_service("db"),
                  a_deployment("d", {a_run("web").times(2), a_run("db")})});
  }

  FakeAgent& agent() { return driver.agent("n1"); }
  std::string level_of(const model::InstanceKey& key) {
    const auto& variables = agent().variables.at(key);
    const auto level = variables.find("level");
    return level == variables.end() ? "" : level->second;
  }

  const model::InstanceKey web = key_of("web");
  const model::InstanceKey db = key_of("db");
  Driver driver;
};

TEST_F(Overrides, RestartOnlyThoseWhoseVariablesChange) {
  const CallId call = driver.apply({an_override("o", {an_entry("web", "level", "debug")})});
  EXPECT_EQ(level_of(web), "debug");
  EXPECT_EQ(agent().starts.at(web), 2);
  EXPECT_EQ(agent().starts.at(db), 1);
  driver.advance(2s);
  EXPECT_EQ(driver.reply_to<Finished>(call)->statuses.size(), 2u) << "it tells of the restarted";
  driver.apply({an_override("o", {an_entry("web", "level", "debug")})});
  EXPECT_EQ(agent().starts.at(web), 2) << "nothing has changed";
}

TEST_F(Overrides, CanBeForOneInstance) {
  model::EnvEntry entry = an_entry("web", "level", "debug");
  entry.subject = model::SubjectId{"default"};
  entry.index = 1;
  driver.apply({an_override("o", {entry})});
  EXPECT_EQ(level_of(web), "info");
  EXPECT_EQ(level_of(key_of("web", 1)), "debug");
}

TEST_F(Overrides, AreReplacedAsAWhole) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug")})});
  driver.apply({an_override("o", {an_entry("db", "level", "debug")})});
  EXPECT_EQ(level_of(web), "info");
  EXPECT_EQ(level_of(db), "debug");
}

TEST_F(Overrides, LaterEntriesAndLaterNamesWin) {
  driver.apply({an_override("b", {an_entry({}, "level", "b1"), an_entry("db", "level", "b2")})});
  EXPECT_EQ(level_of(web), "b1");
  EXPECT_EQ(level_of(db), "b2");
  driver.apply({an_override("a", {an_entry({}, "level", "a")})});
  EXPECT_EQ(level_of(db), "b2");
  driver.apply({an_override("c", {an_entry({}, "level", "c")})});
  EXPECT_EQ(level_of(db), "c");
}

TEST_F(Overrides, ExpireExactlyThen) {
  driver.apply(
      {an_override("o", {an_entry("web", "level", "debug", 1h), an_entry("db", "x", "1")})});
  driver.advance(1h - 1us);
  EXPECT_EQ(level_of(web), "debug");
  driver.advance(1us);
  EXPECT_EQ(level_of(web), "info");
  EXPECT_EQ(agent().starts.at(db), 2);
  EXPECT_EQ(driver.durable().env_overrides.at("o").entries.size(), 1u);
}

TEST_F(Overrides, OfWhichNothingIsLeftAreGone) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug", 1h)})});
  driver.advance(1h);
  EXPECT_TRUE(driver.durable().env_overrides.empty());
}

TEST_F(Overrides, CountAnewWhenAppliedAgain) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug", 1h)})});
  driver.advance(50min);
  driver.apply({an_override("o", {an_entry("web", "level", "debug", 1h)})});
  driver.advance(50min);
  EXPECT_EQ(level_of(web), "debug");
}

TEST_F(Overrides, LoseLittleTimeByARestart) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug", 2h)})});
  driver.advance(1h);
  driver.cordon("n1");  // writes something, and what is left with it
  EXPECT_EQ(driver.durable().env_overrides.at("o").entries[0].variables[0].expires, 1h);
  driver.restart();
  driver.connect("n1");
  driver.advance(1h);
  EXPECT_EQ(level_of(web), "info");
}

TEST_F(Overrides, EndInTimeAlsoIfThereWasNoControlPlane) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug", 2h)})});
  driver.advance(30min);
  driver.restart(30min);
  driver.connect("n1");
  EXPECT_EQ(level_of(web), "debug");
  driver.advance(1h - 1us);
  EXPECT_EQ(level_of(web), "debug");
  driver.advance(1us);
  EXPECT_EQ(level_of(web), "info");
}

TEST_F(Overrides, ThatEndedWhileThereWasNoControlPlaneAreGone) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug", 1h)})});
  driver.restart(61min);
  driver.connect("n1");
  EXPECT_EQ(level_of(web), "info");
  EXPECT_TRUE(driver.durable().env_overrides.empty());
}

TEST_F(Overrides, DoNotBelieveADateThatWentBackOrYearsAhead) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug", 1h)})});
  for (const Duration date : {Duration(-1h), Duration(20 * 365 * 24h)}) {
    driver.set_date_of_zero(date);
    driver.restart(30min);
    driver.connect("n1");
    driver.advance(59min);
    EXPECT_EQ(level_of(web), "debug") << "nobody knows how long it was away";
  }
  driver.advance(1min);
  EXPECT_EQ(level_of(web), "info");
}

TEST_F(Overrides, KeepTheirEndWithoutAnyWriting) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug", 2h)})});
  driver.advance(110min);
  for (const auto& [at, effects] : driver.steps()) EXPECT_TRUE(effects.writes.empty());
  driver.restart();
  driver.connect("n1");
  driver.advance(10min);
  EXPECT_EQ(level_of(web), "info");
}

TEST_F(Overrides, AreGoneWhenDeleted) {
  driver.apply({an_override("o", {an_entry("web", "level", "debug")})});
  driver.erase("EnvOverride", "o");
  EXPECT_EQ(level_of(web), "info");
  EXPECT_EQ(driver.reply_to<Error>(driver.erase("EnvOverride", "o"))->code, Code::NotFound);
}

TEST_F(Overrides, HoldForWhatIsPlacedLaterAndAreNoReasonToRestartAfterARestart) {
  driver.apply({an_override("o", {an_entry({}, "level", "debug")})});
  driver.apply({a_service("new"), a_deployment("e", {a_run("new")})});
  EXPECT_EQ(level_of(key_of("new")), "debug");
  driver.restart();
  driver.connect("n1");
  EXPECT_EQ(agent().starts.at(key_of("new")), 1);
}

}  // namespace
}  // namespace berth::control
