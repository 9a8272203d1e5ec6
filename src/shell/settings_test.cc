#include "shell/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace berth::shell {
namespace {

namespace fs = std::filesystem;

std::vector<Setting> known() {
  return {{"store.path", "where", "/var/lib/x"},
          {"store.sync", "how", "true"},
          {"listen", "address", "0.0.0.0:1"},
          {"dmips.perCore", "speed", "10000"},
          {"heartbeat", "how often", "2s"},
          {"cache.size", "how much", "64Mi"},
          {"runtimes", "which", ""},
          {"thing.*.size.max", "of one", ""},
          {"thing.*.loud", "that one", "false"}};
}

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    std::string pattern = (fs::temp_directory_path() / "settings-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    write("x.yaml", "");
  }
  ~SettingsTest() override {
    fs::remove_all(directory_);
    unsetenv("TESTD_DMIPS_PER_CORE");
    unsetenv("TESTD_LISTEN");
  }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }
  std::string file() const { return (directory_ / "x.yaml").string(); }

  Result<Settings> load(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--config", file()});
    return Settings::load("testd", known(), arguments);
  }
  std::string error_of(std::vector<std::string> arguments = {}) {
    const auto settings = load(std::move(arguments));
    return settings ? "" : settings.error().message;
  }

  fs::path directory_;
};

TEST_F(SettingsTest, WhatNobodySaysIsTheDefault) {
  const auto settings = load();
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->text("listen"), "0.0.0.0:1");
  EXPECT_TRUE(settings->flag("store.sync"));
  EXPECT_EQ(*settings->number("dmips.perCore"), 10'000);
  EXPECT_EQ(*settings->duration("heartbeat"), 2s);
  EXPECT_EQ(*settings->bytes("cache.size"), Bytes(64 << 20));
  EXPECT_TRUE(settings->list("runtimes").empty());
}

TEST_F(SettingsTest, FilesAreNestedOrDotted) {
  write("x.yaml", "store:\n  path: /a\nstore.sync: false\nruntimes: [runc, process]\n");
  const auto settings = load();
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->text("store.path"), "/a");
  EXPECT_FALSE(settings->flag("store.sync"));
  EXPECT_EQ(settings->list("runtimes"), (std::vector<std::string>{"runc", "process"}));
}

TEST_F(SettingsTest, AFamilyHasTheMembersThatWereSaid) {
  write("x.yaml", "thing:\n  one: {loud: true}\n  two.size.max: 4\nthing.a-b.size: {max: 5}\n");
  const auto settings = load({"--thing-one-size-max", "3", "--thing-x-y-loud"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->members("thing"), (std::vector<std::string>{"a-b", "one", "two", "x-y"}));
  EXPECT_EQ(*settings->number("thing.one.size.max"), 3);
  EXPECT_TRUE(settings->flag("thing.one.loud"));
  EXPECT_EQ(settings->text("thing.two.size.max"), "4");
  EXPECT_EQ(settings->text("thing.a-b.size.max"), "5");
  EXPECT_TRUE(settings->flag("thing.x-y.loud"));
  EXPECT_FALSE(settings->was_said("thing.two.loud"));
  EXPECT_TRUE(load()->was_said("thing.one.loud"));
}

TEST_F(SettingsTest, AMistypedMemberOfAFamilyGetsASuggestion) {
  write("x.yaml", "thing:\n  one: {luod: true}\n");
  EXPECT_NE(error_of().find("\"thing.one.luod\". Did you mean \"thing.one.loud\"?"),
            std::string::npos)
      << error_of();
}

TEST_F(SettingsTest, WhatHasChangedBetweenTwoIsNamed) {
  write("x.yaml", "thing: {one: {loud: true}, two: {loud: true}}\nlisten: a\n");
  const auto before = load();
  write("x.yaml", "thing: {one: {loud: false}}\nlisten: a\nheartbeat: 9s\n");
  EXPECT_EQ(load()->differences(*before),
            (std::vector<std::string>{"heartbeat", "thing.one.loud", "thing.two.loud"}));
}

TEST_F(SettingsTest, TheCommandLineWinsOverTheEnvironmentOverFiles) {
  write("x.yaml", "listen: file\ndmips.perCore: 1\nheartbeat: 1s\n");
  setenv("TESTD_DMIPS_PER_CORE", "2", 1);
  setenv("TESTD_LISTEN", "environment", 1);
  const auto settings = load({"--listen", "line", "--store-path=/b", "--store-sync=false"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->text("listen"), "line");
  EXPECT_EQ(settings->text("store.path"), "/b");
  EXPECT_EQ(*settings->number("dmips.perCore"), 2);
  EXPECT_EQ(*settings->duration("heartbeat"), 1s);
  EXPECT_FALSE(settings->flag("store.sync"));
}

TEST_F(SettingsTest, TheDirectoryBesideTheFileHasTheLastWordInOrder) {
  write("x.yaml", "listen: main\nheartbeat: 9s\n");
  write("x.d/20.yaml", "listen: twenty\n");
  write("x.d/10.yaml", "listen: ten\ncache.size: 1Ki\n");
  write("x.d/ignored.txt", "nonsense");
  const auto settings = load();
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->text("listen"), "twenty");
  EXPECT_EQ(*settings->bytes("cache.size"), Bytes(1024));
  EXPECT_EQ(*settings->duration("heartbeat"), 9s);
}

TEST_F(SettingsTest, ShowTellsWhereEachValueCameFrom) {
  write("x.yaml", "\n\nstore:\n  path: /a\n");
  setenv("TESTD_LISTEN", "here", 1);
  const std::string shown = load({"--heartbeat", "3s"})->show();
  EXPECT_NE(shown.find("file " + file() + ":4"), std::string::npos) << shown;
  EXPECT_NE(shown.find("environment TESTD_LISTEN"), std::string::npos);
  EXPECT_NE(shown.find("command line"), std::string::npos);
  EXPECT_NE(shown.find("default"), std::string::npos);
}

TEST_F(SettingsTest, AnErrorNamesAllThatIsWrongWithSuggestions) {
  write("x.yaml", "store:\n  pth: /a\nlisten: {a: 1}\nstore.sync: maybe\n");
  const std::string error = error_of({"--hartbeat", "1s"});
  EXPECT_NE(error.find("x.yaml:2"), std::string::npos) << error;
  EXPECT_NE(error.find("Did you mean \"store.path\"?"), std::string::npos) << error;
  EXPECT_NE(error.find("listen must be text, not a map"), std::string::npos) << error;
  EXPECT_NE(error.find("store.sync must be true or false"), std::string::npos) << error;
  EXPECT_NE(error.find("no flag --hartbeat. Did you mean \"heartbeat\"?"), std::string::npos)
      << error;
}

TEST_F(SettingsTest, AWrongValueIsToldWithItsOrigin) {
  write("x.yaml", "heartbeat: soon\n");
  const auto settings = load({"--dmips-per-core", "many"});
  ASSERT_TRUE(settings);
  EXPECT_NE(settings->duration("heartbeat").error().message.find("x.yaml:1"), std::string::npos);
  EXPECT_NE(settings->number("dmips.perCore").error().message.find("command line"),
            std::string::npos);
}

TEST_F(SettingsTest, BrokenYamlMissingFilesAndLeftoversAreErrors) {
  EXPECT_NE(error_of({"extra"}).find("unexpected argument \"extra\""), std::string::npos);
  EXPECT_EQ(error_of({"--store-sync", "--heartbeat"}), "--heartbeat needs a value");
  write("x.yaml", "a: [");
  EXPECT_NE(error_of().find("x.yaml:"), std::string::npos);
  fs::remove(file());
  EXPECT_NE(error_of().find("x.yaml"), std::string::npos);
}

TEST(SettingsHelp, ListsEachFlagWithItsDefault) {
  const std::string help = help_for("testd", "Tests.", known());
  EXPECT_NE(help.find("--dmips-per-core"), std::string::npos);
  EXPECT_NE(help.find("(default: 10000)"), std::string::npos);
  EXPECT_NE(help.find("TESTD_STORE_PATH"), std::string::npos);
}

}  // namespace
}  // namespace berth::shell
