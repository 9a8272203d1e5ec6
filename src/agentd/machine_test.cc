#include "agentd/machine.h"

#include <gtest/gtest.h>

namespace berth::agentd {
namespace {

TEST(Machine, MemoryIsReadAsTheKernelWritesIt) {
  const auto memory = parse_meminfo(
      "MemTotal:       16303892 kB\nMemFree:         1000000 kB\nMemAvailable:   12000000 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total, Bytes(16'303'892LL * 1024));
  EXPECT_EQ(memory->available, Bytes(12'000'000LL * 1024));
  EXPECT_FALSE(parse_meminfo("nonsense"));
}

TEST(Machine, IdleAndWaitingProcessorsAreNotBusy) {
  const auto busy = parse_stat("cpu  100 20 30 9000 500 1 2 3 0 0\ncpu0 1 2 3\n", 100);
  ASSERT_TRUE(busy);
  EXPECT_EQ(*busy, std::chrono::microseconds(1'560'000));
  EXPECT_FALSE(parse_stat("cpu  1 2", 100));
  EXPECT_FALSE(parse_stat("", 100));
}

TEST(Machine, TellsOfItself) {
  EXPECT_GE(processor_count(), 1);
  const auto memory = read_memory();
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_GT(memory->total, Bytes(1 << 20));
  EXPECT_GT(consumption_of_this_process().ram, Bytes(1 << 16));
  EXPECT_GT(file_system_of("/")->size, Bytes(1 << 20));
  EXPECT_EQ(file_system_of("/does/not/exist")->device, file_system_of("/")->device);
  EXPECT_TRUE(is_installed("sh"));
  EXPECT_FALSE(is_installed("no-such-program-at-all"));
}

TEST(Machine, BootIdsDiffer) {
  EXPECT_EQ(make_boot_id().size(), 32U);
  EXPECT_NE(make_boot_id(), make_boot_id());
}

}  // namespace
}  // namespace berth::agentd
