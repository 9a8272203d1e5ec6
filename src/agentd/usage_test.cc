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

TEST(Usage, WhatNoLongerRunsIsNotMeasured) {
  UsageMeter meter(1'000, 10s);
  meter.add(kStart, {{kKey, used(1s, 1)}}, {}, UsageMeter::Rest::Agent);
  EXPECT_TRUE(meter.add(kStart + 1s, {}, {}, UsageMeter::Rest::Agent).instances.empty());
}

}  // namespace
}  // namespace berth::agentd
