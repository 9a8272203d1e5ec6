#include "agentd/usage.h"

#include <gtest/gtest.h>

namespace berth::agentd {
namespace {

const model::InstanceKey kKey{model::ItemId("web"), model::SubjectId("car"), 0};
constexpr Time kStart = Time{} + 1000s;

runtime::Consumption used(Duration cpu, std::int64_t ram) { return {cpu, Bytes(ram)}; }

TEST(Usage, HalfACoreIsHalfOfItsDmips) {
  UsageMeter meter(10'000, 10s);
  meter.add(kStart, {{kKey, used(0s, 100)}}, used(0s, 7), UsageMeter::Rest::Agent);
  const auto measured =
      meter.add(kStart + 2s, {{kKey, used(1s, 300)}}, used(20ms, 7), UsageMeter::Rest::Agent);
  EXPECT_EQ(measured.instances.at(kKey).cpu, Dmips(5'000));
  EXPECT_EQ(measured.instances.at(kKey).ram, Bytes(200));
  EXPECT_EQ(measured.total.cpu, Dmips(5'100));
  EXPECT_EQ(measured.total.ram, Bytes(207));
}

TEST(Usage, TheTotalOfAMachineIsItsOwn) {
  UsageMeter meter(1'000, 10s);
  meter.add(kStart, {{kKey, used(0s, 100)}}, used(5s, 4'000), UsageMeter::Rest::Machine);
  const auto measured =
      meter.add(kStart + 1s, {{kKey, used(1s, 100)}}, used(7s, 4'000), UsageMeter::Rest::Machine);
  EXPECT_EQ(measured.total.cpu, Dmips(2'000));
  EXPECT_EQ(measured.total.ram, Bytes(4'000));
}

TEST(Usage, IsAnAverageOverTheWindow) {
  UsageMeter meter(1'000, 10s);
  agent::Measured measured;
  // Busy for ten seconds, then idle: after five idle seconds half of the window was busy.
  for (int second = 0; second <= 15; ++second) {
    const Duration cpu = std::min(second, 10) * 1s;
    measured = meter.add(kStart + second * 1s, {{kKey, used(cpu, 1)}}, {}, UsageMeter::Rest::Agent);
  }
  EXPECT_EQ(measured.instances.at(kKey).cpu, Dmips(500));
}

TEST(Usage, ANewRunBeginsANewAverage) {
  UsageMeter meter(1'000, 10s);
  meter.add(kStart, {{kKey, used(100s, 1)}}, {}, UsageMeter::Rest::Agent);
  meter.add(kStart + 1s, {{kKey, used(0s, 1)}}, {}, UsageMeter::Rest::Agent);
  const auto measured = meter.add(kStart + 2s, {{kKey, used(1s, 1)}}, {}, UsageMeter::Rest::Agent);
  EXPECT_EQ(measured.instances.at(kKey).cpu, Dmips(1'000));
}

TEST(Usage, TrafficIsInBytesPerSecond) {
  UsageMeter meter(1'000, 10s);
  const auto at = [&](Time time, std::int64_t received, std::int64_t sent) {
    const runtime::Consumption used{.received = received, .sent = sent};
    return meter.add(time, {{kKey, used}}, used, UsageMeter::Rest::Machine);
  };
  at(kStart, 1'000, 0);
  const auto measured = at(kStart + 2s, 5'000, 100);
  EXPECT_EQ(measured.footprints.at(kKey).traffic, (model::Traffic{2'000, 50}));
  EXPECT_EQ(measured.node->traffic, (model::Traffic{2'000, 50}));
}

TEST(Usage, AgentsOnOneMachineDoNotSeeEachOthersLoad) {
  UsageMeter meter(1'000, 10s);
  meter.add(kStart, {{kKey, used(0s, 100)}}, used(0s, 5), UsageMeter::Rest::Agent);
  // However busy the machine is: the agent itself and its instances are all that counts.
  const auto measured =
      meter.add(kStart + 1s, {{kKey, used(500ms, 100)}}, used(100ms, 5), UsageMeter::Rest::Agent);
  EXPECT_EQ(measured.total, (model::Usage{Dmips(600), Bytes(105)}));
}

TEST(Usage, WhatNoLongerRunsIsNotMeasured) {
  UsageMeter meter(1'000, 10s);
  meter.add(kStart, {{kKey, used(1s, 1)}}, {}, UsageMeter::Rest::Agent);
  EXPECT_TRUE(meter.add(kStart + 1s, {}, {}, UsageMeter::Rest::Agent).instances.empty());
}

}  // namespace
}  // namespace berth::agentd
