#include "shell/workers.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <mutex>
#include <vector>

namespace berth::shell {
namespace {

TEST(Workers, TasksOfOneKeyRunInTheirOrder) {
  Workers workers(4, 1000);
  std::mutex mutex;
  std::map<std::string, std::vector<int>> seen;
  for (int i = 0; i < 300; ++i) {
    const std::string key = std::to_string(i % 3);
    ASSERT_TRUE(workers.submit(key, [&, key, i] {
      const std::lock_guard lock(mutex);
      seen[key].push_back(i);
    }));
  }
  workers.wait_until_idle();
  for (const auto& [key, order] : seen) {
    EXPECT_EQ(order.size(), 100U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << key;
  }
}

TEST(Workers, DifferentKeysRunSideBySide) {
  Workers workers(2, 10);
  std::latch both(2);  // only passed if the two tasks run at the same time
  ASSERT_TRUE(workers.submit("a", [&] { both.arrive_and_wait(); }));
  ASSERT_TRUE(workers.submit("b", [&] { both.arrive_and_wait(); }));
  workers.wait_until_idle();
}

TEST(Workers, ThereAreNeverMoreThreadsThanAllowed) {
  Workers workers(3, 100);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::latch three(3);
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(workers.submit(std::to_string(i), [&, i] {
      const int now = ++running;
      int before = most;
      while (before < now && !most.compare_exchange_weak(before, now)) {
      }
      if (i < 3) three.arrive_and_wait();
      --running;
    }));
  }
  workers.wait_until_idle();
  EXPECT_EQ(most, 3);
}

TEST(Workers, ATaskOfOneKeyWaitsForTheOneBefore) {
  Workers workers(2, 10);
  std::promise<void> go;
  std::atomic<bool> first_done = false;
  std::atomic<bool> seen_done = false;
  ASSERT_TRUE(workers.submit("a", [&] {
    go.get_future().wait();
    first_done = true;
  }));
  ASSERT_TRUE(workers.submit("a", [&] { seen_done = first_done.load(); }));
  std::promise<void> other;
  ASSERT_TRUE(workers.submit("b", [&] { other.set_value(); }));
  other.get_future().wait();  // the second thread is free, and yet not used for "a"
  go.set_value();
  workers.wait_until_idle();
  EXPECT_TRUE(seen_done);
}

TEST(Workers, MoreThanTheLimitIsRefused) {
  Workers workers(1, 2);
  std::promise<void> go;
  std::promise<void> begun;
  ASSERT_TRUE(workers.submit("a", [&] {
    begun.set_value();
    go.get_future().wait();
  }));
  begun.get_future().wait();
  EXPECT_TRUE(workers.submit("a", [] {}));
  EXPECT_TRUE(workers.submit("b", [] {}));
  EXPECT_FALSE(workers.submit("c", [] {}));
  go.set_value();
  workers.wait_until_idle();
  EXPECT_TRUE(workers.submit("c", [] {}));
}

TEST(Workers, WhatWaitsAtTheEndIsDropped) {
  std::atomic<int> ran = 0;
  std::promise<void> go;
  std::promise<void> begun;
  std::thread ender;
  {
    Workers workers(1, 1'000'000);  // a full queue refuses, too
    ASSERT_TRUE(workers.submit("a", [&] {
      begun.set_value();
      go.get_future().wait();
      ++ran;
    }));
    begun.get_future().wait();
    ASSERT_TRUE(workers.submit("a", [&] { ++ran; }));
    ender = std::thread([&workers] { workers.stop(); });
    while (workers.submit("b", [] {})) std::this_thread::yield();  // until the end has begun
    go.set_value();
    ender.join();
  }
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace berth::shell
