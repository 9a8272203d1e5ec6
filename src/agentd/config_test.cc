#include "agentd/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of(const std::vector<RuntimeConfig>& runtimes) {
  std::vector<std::string> names;
  for (const RuntimeConfig& runtime : runtimes) names.push_back(runtime.name);
  return names;
}

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    std::string pattern = (fs::temp_directory_path() / "config-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    std::ofstream(directory_ / "empty.yaml") << "";
  }
  ~ConfigTest() override { fs::remove_all(directory_); }

  Result<Config> read(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--config", (directory_ / "empty.yaml").string(),
                                       "--state-dir", directory_.string()});
    const auto settings = load_settings(arguments);
    if (!settings) return settings.error();
    return read_config(*settings);
  }

  void write(const std::string& text) { std::ofstream(directory_ / "empty.yaml") << text; }

  fs::path directory_;
};

TEST_F(ConfigTest, TheDefaultsAreGood) {
  const auto config = read({});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->dmips_per_core, 0) << "it is measured";
  EXPECT_EQ(config->measure_window, 60s);
  const auto process =
      std::find(config->runtimes.begin(), config->runtimes.end(),
                RuntimeConfig{.name = "process", .type = model::RuntimeType::Process});
  ASSERT_NE(process, config->runtimes.end()) << "what else is there depends on the machine";
  EXPECT_EQ(process->probe_period, 1s);
  EXPECT_EQ(process->probe_deadline, 500ms);
  EXPECT_EQ(process->grace, 3s);
  EXPECT_FALSE(config->cpu);
  EXPECT_EQ(config->heartbeat, 2s);
  EXPECT_EQ(config->shim.filename(), "berth-shim");
  EXPECT_FALSE(config->stop_instances_on_exit);
}

TEST_F(ConfigTest, WhatACoreDoesCanBeSaid) {
  const auto config = read({"--dmips-per-core", "12000"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->dmips_per_core, 12'000);
  EXPECT_EQ(config->dmips_origin, "configured");
}

TEST_F(ConfigTest, SettingsAreReadAsPeopleWriteThem) {
  const auto config =
      read({"--capacity-cpu", "4000", "--capacity-ram=2Gi", "--runtimes", "runc, process",
            "--shared-resources", "gpu=2,can0", "--stop-instances-on-exit", "--server", "h:7001"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->cpu, Dmips(4'000));
  EXPECT_EQ(config->ram, Bytes(2LL << 30));
  EXPECT_EQ(names_of(config->runtimes), (std::vector<std::string>{"runc", "process"}));
  EXPECT_EQ(config->runtimes[0].type, model::RuntimeType::Runc);
  EXPECT_EQ(config->shared_resources,
            (std::vector<model::SharedResource>{{"gpu", 2}, {"can0", 0}}));
  EXPECT_TRUE(config->stop_instances_on_exit);
  EXPECT_EQ(config->server, "h:7001");
}

TEST_F(ConfigTest, ComponentsAreOfferedWhereTheyAreConfigured) {
  const auto config =
      read({"--runtimes", "rootfs,boot,firmware", "--components-dir", "/slots",
            "--components-confirm", "/bin/check, --now", "--components-confirm-timeout", "30s"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->runtimes.size(), 3U);
  EXPECT_EQ(config->components.directory, "/slots");
  EXPECT_EQ(config->components.confirm, (std::vector<std::string>{"/bin/check", "--now"}));
  EXPECT_EQ(config->components.confirm_timeout, 30s);
  EXPECT_EQ(config->components.install_timeout, 30min);
}

TEST_F(ConfigTest, WhatIsKeptOfUnusedImagesCanBeSaid) {
  const auto usual = read({});
  ASSERT_TRUE(usual) << usual.error().message;
  EXPECT_EQ(usual->images.unused_max, Bytes(2LL << 30));
  EXPECT_EQ(usual->images.free_percent_min, 10);
  const auto said = read({"--images-unused-max", "64Mi", "--images-free-min", "25"});
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->images.unused_max, Bytes(64 << 20));
  EXPECT_EQ(said->images.free_percent_min, 25);
  EXPECT_NE(read({"--images-free-min", "101"}).error().message.find("images.freeMin"),
            std::string::npos);
}

TEST_F(ConfigTest, EveryWrongSettingIsNamed) {
  const auto config =
      read({"--node-name", "no spaces", "--runtimes", "docker", "--heartbeat", "0s",
            "--dmips-per-core", "-1", "--server", "nowhere", "--shared-resources", "gpu=x"});
  ASSERT_FALSE(config);
  for (const char* part : {"node.name", "Did you mean \"crun\"?", "heartbeat", "dmips.perCore",
                           "server: must be host:port", "sharedResources"}) {
    EXPECT_NE(config.error().message.find(part), std::string::npos) << part << "\n"
                                                                    << config.error().message;
  }
}

TEST_F(ConfigTest, OnlyRuntimesThatThereAreCanBeOffered) {
  EXPECT_NE(read({"--runtimes", "wasm"}).error().message.find("wasm is none"), std::string::npos);
  EXPECT_NE(read({"--runtimes", "runc,runc"}).error().message.find("twice"), std::string::npos);
}

TEST_F(ConfigTest, ARuntimeCanHaveANameAndSettingsOfItsOwn) {
  write(
      "runtimes: [runc, fast, process]\n"
      "probe: {period: 2s, grace: 5s}\n"
      "runtime:\n"
      "  fast:\n"
      "    type: runc\n"
      "    program: /opt/runc\n"
      "    primary: true\n"
      "    limits: {cpu: 500, ram: 64Mi, instances: 3}\n"
      "    probe: {period: 100ms, deadline: 200ms}\n"
      "    grace: 0s\n");
  const auto config = read({"--runtime-process-grace", "7s"});
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(names_of(config->runtimes), (std::vector<std::string>{"runc", "fast", "process"}));
  EXPECT_EQ(
      config->runtimes[0],
      (RuntimeConfig{
          .name = "runc", .type = model::RuntimeType::Runc, .grace = 5s, .probe_period = 2s}));
  EXPECT_EQ(config->runtimes[1],
            (RuntimeConfig{.name = "fast",
                           .type = model::RuntimeType::Runc,
                           .primary = true,
                           .limits = {.cpu = Dmips(500), .ram = Bytes(64 << 20), .instances = 3},
                           .grace = 0s,
                           .probe_period = 100ms,
                           .probe_deadline = 200ms,
                           .program = "/opt/runc"}));
  EXPECT_EQ(config->runtimes[2].grace, 7s);
}

TEST_F(ConfigTest, ARuntimeThatIsOnlyDescribedComesAfterThoseOfTheList) {
  const auto config = read({"--runtimes", "process", "--runtime-runc-2-type", "runc"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(names_of(config->runtimes), (std::vector<std::string>{"process", "runc-2"}));
}

TEST_F(ConfigTest, ADeadlineMayBeLongerThanThePeriod) {
  EXPECT_TRUE(read({"--probe-period", "1s", "--probe-deadline", "10s"}));
}

struct Wrong {
  const char* what;
  std::vector<std::string> arguments;
  const char* says;
};

TEST_F(ConfigTest, EachMistakeAboutRuntimesIsNamed) {
  const Wrong all[] = {
      {"a name twice", {"--runtimes", "process,process"}, "runtimes: process is named twice"},
      {"no type", {"--runtime-fast-grace", "1s"}, "runtime.fast.type says what it is"},
      {"no type in the list", {"--runtimes", "fast"}, "runtimes: "},
      {"an unknown type",
       {"--runtime-fast-type", "dokcer"},
       "runtime.fast.type: \"dokcer\" is no runtime type"},
      {"a type without a runtime",
       {"--runtime-fast-type", "wasm"},
       "runtime.fast.type: wasm is none that this agent has"},
      {"two primaries",
       {"--runtime-runc-primary", "--runtime-process-primary"},
       "runc, process are all called primary; only one can be"},
      {"two of a component",
       {"--runtimes", "rootfs", "--runtime-other-type", "rootfs"},
       "rootfs, other are all of type rootfs"},
      {"a negative grace", {"--runtime-process-grace=-1s"}, "runtime.process.grace: "},
      {"a negative period", {"--probe-period=-1s"}, "probe.period: "},
      {"no period", {"--runtime-process-probe-period", "0s"}, "must be longer than nothing"},
      {"no deadline", {"--probe-deadline", "0s"}, "probe.deadline: must be longer than nothing"},
      {"a limit below nothing", {"--runtime-process-limits-cpu=-5"}, "runtime.process.limits.cpu"},
      {"a limit that is no number",
       {"--runtime-process-limits-instances", "few"},
       "runtime.process.limits.instances"},
      {"a program for what has none",
       {"--runtime-process-program", "/bin/x"},
       "a runtime of type process has no program of its own"},
      {"a name that is none",
       {"--runtime-a_-type=runc", "--runtime-b c-type=runc"},
       "runtime \"b c\""},
      {"a primary that is neither", {"--runtime-process-primary=maybe"}, "must be true or false"},
      {"a setting that is none", {"--runtime-process-colour", "red"}, "no flag"},
  };
  for (const Wrong& one : all) {
    const auto config = read(one.arguments);
    ASSERT_FALSE(config) << one.what;
    EXPECT_NE(config.error().message.find(one.says), std::string::npos)
        << one.what << ": " << config.error().message;
  }
}

TEST_F(ConfigTest, AllMistakesAboutRuntimesAreNamedAtOnce) {
  const auto config = read({"--runtime-a-type", "none", "--runtime-process-grace=x",
                            "--runtime-process-primary", "--runtime-runc-primary"});
  ASSERT_FALSE(config);
  for (const char* part : {"runtime.a.type", "runtime.process.grace", "all called primary"}) {
    EXPECT_NE(config.error().message.find(part), std::string::npos) << config.error().message;
  }
}

TEST_F(ConfigTest, OnlyWhatConcernsRuntimesChangesWhileTheAgentRuns) {
  for (const char* name : {"runtimes", "runtime.fast.grace", "probe.period"}) {
    EXPECT_TRUE(can_change_at_run_time(name)) << name;
  }
  for (const char* name : {"state.dir", "server", "capacity.cpu"}) {
    EXPECT_FALSE(can_change_at_run_time(name)) << name;
  }
}

TEST_F(ConfigTest, WhatJoinLeftIsTheDefault) {
  std::ofstream(joined_file(directory_)) << joined_text("n7", "unit.local:7001");
  EXPECT_EQ(read({})->server, "unit.local:7001");
  EXPECT_EQ(read({})->node, "n7");
  EXPECT_EQ(read({"--server", "other:1"})->server, "other:1");
}

}  // namespace
}  // namespace berth::agentd
