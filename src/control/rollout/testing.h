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

}  // namespace berth::control
