#include "sim/queue.h"

#include <gtest/gtest.h>

namespace berth::sim {
namespace {

TEST(Queue, RunsTasksInTheOrderOfTheirTimesThenOfTheirAdding) {
  Queue queue;
  std::string order;
  queue.after(2s, [&] { order += 'c'; });
  queue.after(1s, [&] { order += 'a'; });
  queue.after(1s, [&] { order += 'b'; });
  while (queue.run_next(Time{} + 5s)) {
  }
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(queue.now(), Time{} + 5s);
}

TEST(Queue, ATaskSeesItsOwnTimeAndMayAddOthers) {
  Queue queue;
  Time seen{};
  queue.after(1s, [&] { queue.after(1s, [&] { seen = queue.now(); }); });
  while (queue.run_next(Time{} + 5s)) {
  }
  EXPECT_EQ(seen, Time{} + 2s);
}

TEST(Queue, DoesNotRunWhatIsDueLater) {
  Queue queue;
  bool ran = false;
  queue.after(2s, [&] { ran = true; });
  EXPECT_FALSE(queue.run_next(Time{} + 1s));
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace berth::sim
