#include "agentd/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace berth::agentd {
namespace {

namespace fs = std::filesystem;

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

  fs::path directory_;
};

TEST_F(ConfigTest, TheDefaultsAreGood) {
  const auto config = read({});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->dmips_per_core, 0) << "it is measured";
  EXPECT_EQ(config->measure_window, 60s);
  EXPECT_FALSE(config->runtimes);
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
  EXPECT_EQ(*config->runtimes,
            (std::vector{model::RuntimeType::Runc, model::RuntimeType::Process}));
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
  EXPECT_EQ(config->runtimes->size(), 3U);
  EXPECT_EQ(config->components.directory, "/slots");
  EXPECT_EQ(config->components.confirm, (std::vector<std::string>{"/bin/check", "--now"}));
  EXPECT_EQ(config->components.confirm_timeout, 30s);
  EXPECT_EQ(config->components.install_timeout, 30min);
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
  EXPECT_NE(read({"--runtimes", "vm"}).error().message.find("vm is none"), std::string::npos);
  EXPECT_NE(read({"--runtimes", "runc,runc"}).error().message.find("twice"), std::string::npos);
}

TEST_F(ConfigTest, WhatJoinLeftIsTheDefault) {
  std::ofstream(joined_file(directory_)) << joined_text("n7", "unit.local:7001");
  EXPECT_EQ(read({})->server, "unit.local:7001");
  EXPECT_EQ(read({})->node, "n7");
  EXPECT_EQ(read({"--server", "other:1"})->server, "other:1");
}

}  // namespace
}  // namespace berth::agentd
