#include "controld/planning/planner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "controld/testing/plane.h"

namespace berth::controld {
namespace {

api::CallPtr a_call_of(const std::string& name) {
  return std::make_shared<api::Call>(
      api::Caller{trust::Identity{trust::Role::Viewer, name}, "somewhere"});
}

// Computes until it is told to stop.
class Endless {
 public:
  Planner::Task task() {
    return [this](const Planner::IsWanted& is_wanted) {
      begun_ = true;
      while (is_wanted()) std::this_thread::yield();
      ended_ = true;
    };
  }

  void wait_until_begun() const {
    while (!begun_) std::this_thread::yield();
  }
  void wait_until_ended() const {
    while (!ended_) std::this_thread::yield();
  }
  bool has_ended() const { return ended_; }

 private:
  std::atomic<bool> begun_ = false;
  std::atomic<bool> ended_ = false;
};

TEST(Planner, GivesUpWhatNobodyWaitsFor) {
  Plane plane;
  Endless endless;
  const auto call = a_call_of("wall");
  plane.planner().submit(call, endless.task());
  endless.wait_until_begun();
  call->abandon();
  endless.wait_until_ended();
}

TEST(Planner, DoesNotEvenBeginWhatNobodyWaitsForAnyMore) {
  Plane plane;
  Endless first;
  Endless second;
  const auto call = a_call_of("wall");
  const auto waiting = a_call_of("wall");
  plane.planner().submit(call, first.task());
  plane.planner().submit(waiting, second.task());
  waiting->abandon();
  call->abandon();
  std::atomic<bool> done = false;
  plane.planner().submit(a_call_of("wall"), [&](const Planner::IsWanted&) { done = true; });
  while (!done) std::this_thread::yield();
  EXPECT_FALSE(second.has_ended());
}

TEST(Planner, GivesUpWhatTakesTooLong) {
  Plane plane({.planner = {.time = 10ms}});
  Endless endless;
  plane.planner().submit(a_call_of("wall"), endless.task());
  endless.wait_until_ended();
  EXPECT_EQ(plane.planner().why_given_up().code, Code::Exhausted);
}

TEST(Planner, GivesUpEverythingWhenItIsStopped) {
  Plane plane;
  Endless endless;
  plane.planner().submit(a_call_of("wall"), endless.task());
  endless.wait_until_begun();
  plane.planner().stop();
  EXPECT_TRUE(endless.has_ended());
  const auto late = a_call_of("wall");
  plane.planner().submit(late, endless.task());
  EXPECT_EQ(late->failure()->code, Code::Unavailable);
}

TEST(Planner, WhoAsksForManyIsRefusedAndOthersAreServed) {
  Plane plane({.planner = {.of_caller = 2}});
  Endless first;
  Endless second;
  const auto call = a_call_of("wall");
  const auto waiting = a_call_of("wall");
  const auto refused = a_call_of("wall");
  plane.planner().submit(call, first.task());
  plane.planner().submit(waiting, second.task());
  plane.planner().submit(refused, second.task());
  EXPECT_EQ(refused->failure()->message, "too many plans are being made; try again");
  std::atomic<bool> done = false;
  plane.planner().submit(a_call_of("ann"), [&](const Planner::IsWanted&) { done = true; });
  while (!done) std::this_thread::yield();
  call->abandon();
  waiting->abandon();
}

}  // namespace
}  // namespace berth::controld
