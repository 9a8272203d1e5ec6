#pragma once

#include <gtest/gtest.h>

#include "control/testing.h"
#include "model/override.h"

namespace berth::control {

using model::InstanceState;

// Three instances of version 1 on one node.
class RolloutsTest : public testing::Test {
 protected:
  RolloutsTest() {
    driver.join("n1");
    driver.apply({a_service("web"), a_deployment("d", {a_run("web").times(3)})});
  }

  static model::InstanceKey web(std::uint32_t index) { return key_of("web", index); }
  CallId update(bool allow_partial = false) {
    return driver.apply(
        {a_service("web").version("2"), a_deployment("d", {a_run("web").times(3).version("2")})},
        {}, allow_partial);
  }
  std::optional<Finished> finished(CallId call) const { return driver.reply_to<Finished>(call); }
  FakeAgent& agent() { return driver.agent("n1"); }
  // The versions that run, in the order of the indices.
  std::string versions() {
    std::string text;
    for (const auto& [key, status] : agent().statuses) text += status.version;
    return text;
  }

  Driver driver;
};

// "web" runs on the node labelled "here", which is n1 in the beginning.
class TravellingWeb : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* node : {"n1", "n2", "n3"}) driver.join(node, node_info());
    label("n1");
    driver.apply({item(), a_deployment("d", {a_run("web").label("here")})});
    ASSERT_EQ(driver.status_of(kWeb), "active");
  }

  virtual model::Item item() { return a_service("web"); }
  virtual model::NodeInfo node_info() { return a_node(); }

  // Only this node has the label now: whoever needs it has to go there.
  void label(const std::string& node) {
    model::Manifest configs;
    for (const char* each : {"n1", "n2", "n3"}) {
      configs.push_back(
          labels_of(each, each == node ? std::set<std::string>{"here"} : std::set<std::string>{}));
    }
    driver.apply(configs);
  }

  Driver driver;
};

}  // namespace berth::control
