#include "controld/loop/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "controld/identity/join_tokens.h"
#include "controld/testing/plane.h"

namespace berth::controld {
namespace {

model::Manifest a_config(const std::string& name) {
  model::NodeConfig config;
  config.name = name;
  config.node = model::NodeId(name);
  config.priority = 1;
  return {config};
}

std::function<control::Event(control::CallId)> apply(const std::string& name) {
  return [name](control::CallId id) {
    return control::ApplyCall{id, a_config(name), std::nullopt};
  };
}

// The first answer.
Loop::Answer call(Loop& loop, const std::function<control::Event(control::CallId)>& make) {
  std::promise<Loop::Answer> answer;
  loop.call(make, [&](const Loop::Answer& given) {
    answer.set_value(given);
    return false;
  });
  return answer.get_future().get();
}

TEST(Loop, WhatIsAcceptedIsDurable) {
  Plane plane;
  std::promise<bool> durable;
  plane.loop().call(apply("c1"), [&](const Loop::Answer& answer) {
    EXPECT_TRUE(std::holds_alternative<control::Accepted>(answer));
    durable.set_value(plane.store().contents().contains("node_configs/c1"));
    return false;
  });
  EXPECT_TRUE(durable.get_future().get());
}

TEST(Loop, ACallGetsEveryAnswerItWants) {
  Plane plane;
  std::promise<void> finished;
  std::vector<std::string> answers;
  plane.loop().call(apply("c1"), [&](const Loop::Answer& answer) {
    answers.push_back(std::holds_alternative<control::Accepted>(answer) ? "accepted" : "finished");
    if (answers.back() == "finished") finished.set_value();
    return true;
  });
  finished.get_future().wait();
  EXPECT_EQ(answers, (std::vector<std::string>{"accepted", "finished"}));
}

TEST(Loop, AFullStoreIsTriedAgainUntilThereIsRoom) {
  Plane plane;
  plane.ask<bool>([](const control::Controller&) { return true; });
  plane.store().fail(true);
  const Loop::Answer first = call(plane.loop(), apply("c1"));
  ASSERT_TRUE(std::holds_alternative<Error>(first)) << "acknowledged before it was durable";
  EXPECT_EQ(std::get<Error>(first).code, Code::NotDurable)
      << "it is not refused: " << std::get<Error>(first).message;
  EXPECT_NE(std::get<Error>(first).message.find("when there is room again"), std::string::npos);
  while (plane.store().attempts() < 5) std::this_thread::yield();
  ASSERT_TRUE(plane.loop().trouble());
  EXPECT_EQ(plane.loop().trouble()->message, "no space left on device");

  const Loop::Answer refused = call(plane.loop(), apply("c2"));
  ASSERT_TRUE(std::holds_alternative<Error>(refused));
  EXPECT_EQ(std::get<Error>(refused).code, Code::Exhausted);
  EXPECT_NE(std::get<Error>(refused).message.find("no space left"), std::string::npos);
  EXPECT_TRUE(plane.ask<bool>([](const control::Controller&) { return true; })) << "can be read";

  plane.store().fail(false);
  while (plane.loop().trouble()) std::this_thread::yield();
  EXPECT_TRUE(plane.store().contents().contains("node_configs/c1"));
  EXPECT_TRUE(std::holds_alternative<control::Accepted>(call(plane.loop(), apply("c3"))));
  EXPECT_FALSE(plane.loop().trouble());
}

TEST(Loop, FactsThatCameWhileTheStoreWasFullAreNotLost) {
  Plane plane;
  plane.store().fail(true);
  plane.loop().call(apply("c1"), [](const Loop::Answer&) { return false; });
  while (!plane.loop().trouble()) std::this_thread::yield();
  ASSERT_TRUE(plane.loop().post(control::NodeConnected{model::NodeId("n1"), 1}));
  plane.store().fail(false);
  plane.wait_until([](const control::Controller& controller) {
    return controller.nodes().contains(model::NodeId("n1"));
  });
}

TEST(Loop, AFullMailboxTellsWhoPosts) {
  MoodyStore store;
  Loop loop(store, {}, {},
            {.send = [](const auto&) {},
             .stepped = [](const auto&, const auto&) { return Loop::Publishing(); }},
            {.mailbox = 2, .retry_commit_after = 5ms});
  EXPECT_TRUE(loop.post(control::NodeConnected{model::NodeId("n1"), 1}));
  EXPECT_TRUE(loop.post(control::NodeConnected{model::NodeId("n1"), 2}));
  EXPECT_FALSE(loop.post(control::NodeConnected{model::NodeId("n1"), 3}));
  EXPECT_TRUE(std::holds_alternative<Error>(call(loop, apply("c1"))));
  EXPECT_EQ(loop.stats().mailbox_depth, 2u);
}

TEST(Loop, WhoWaitsIsToldWhenItStops) {
  MoodyStore store;
  Loop loop(store, {}, {},
            {.send = [](const auto&) {},
             .stepped = [](const auto&, const auto&) { return Loop::Publishing(); }});
  std::vector<Loop::Answer> answers;
  loop.call(apply("c1"), [&](const Loop::Answer& answer) {
    answers.push_back(answer);
    return true;
  });
  loop.stop();
  loop.run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(std::get<Error>(answers[0]).code, Code::Unavailable);
}

TEST(Loop, StopsWhileTheStoreIsFull) {
  Plane plane;
  plane.store().fail(true);
  plane.loop().call(apply("c1"), [](const Loop::Answer&) { return false; });
  while (!plane.loop().trouble()) std::this_thread::yield();
}

// --- While a commit is under way.

class SlowStore : public testing::Test {
 protected:
  // From here on a commit is under way, of the call for "c0".
  void SetUp() override {
    call(plane_.loop(), apply("first"));
    before_ = plane_.store().commits();
    plane_.store().hold();
    ask_for("c0");
    while (plane_.store().attempts() == before_) std::this_thread::yield();
  }

  void ask_for(const std::string& name) {
    plane_.loop().call(apply(name), [this, name](const Loop::Answer& answer) {
      const std::lock_guard lock(mutex_);
      answers_ += name + (std::holds_alternative<Error>(answer) ? "! " : " ");
      return false;
    });
  }
  std::string answers() {
    const std::lock_guard lock(mutex_);
    return answers_;
  }
  void wait_for_answers(const std::string& expected) {
    while (answers().size() < expected.size()) std::this_thread::yield();
    EXPECT_EQ(answers(), expected);
  }
  bool knows(const std::string& name) {
    return plane_.ask<bool>([&](const control::Controller& controller) {
      return controller.durable().node_configs.contains(name);
    });
  }

  Plane plane_{{.limits = {.mailbox = 100'000, .retry_commit_after = 5ms, .gather_max = 10s}}};
  std::size_t before_ = 0;
  std::mutex mutex_;
  std::string answers_;
};

TEST_F(SlowStore, TheCoreStepsOnAndNothingLeavesBeforeItIsDurable) {
  ask_for("c1");
  ASSERT_TRUE(plane_.loop().post(control::NodeConnected{model::NodeId("n1"), 1}));
  plane_.wait_until([](const control::Controller& controller) {
    return controller.nodes().contains(model::NodeId("n1"));
  });
  EXPECT_TRUE(knows("c1"));
  EXPECT_EQ(answers(), "");
  plane_.store().let_go();
  wait_for_answers("c0 c1 ");
  EXPECT_TRUE(plane_.store().contents().contains("node_configs/c1"));
}

TEST_F(SlowStore, WhatWaitsIsOneCommit) {
  for (const char* name : {"c1", "c2", "c3"}) {
    ask_for(name);
    while (!knows(name)) std::this_thread::yield();
  }
  plane_.store().let_go();
  wait_for_answers("c0 c1 c2 c3 ");
  EXPECT_EQ(plane_.store().commits(), before_ + 2);
}

// Both who are answered by the second commit ask again, one after the other. That they come within
// the time that it took is all that this counts on.
TEST_F(SlowStore, WhoIsAnsweredWithOthersIsWaitedFor) {
  for (const char* name : {"c1", "c2"}) {
    ask_for(name);
    while (!knows(name)) std::this_thread::yield();
  }
  plane_.store().take(1s);
  plane_.store().let_go();
  wait_for_answers("c0 c1 c2 ");
  plane_.store().take(0s);
  ask_for("c3");
  while (!knows("c3")) std::this_thread::yield();
  ask_for("c4");
  wait_for_answers("c0 c1 c2 c3 c4 ");
  EXPECT_EQ(plane_.store().commits(), before_ + 3);
}

TEST_F(SlowStore, WhoLooksIsToldWhenThatIsDurable) {
  std::atomic<int> told = 0;
  std::atomic<bool> was_durable = false;
  ASSERT_TRUE(plane_.loop().post(Loop::Reader([&](const control::Controller& controller) {
    EXPECT_TRUE(controller.durable().node_configs.contains("c0"));
    return [&](const std::optional<Error>& doubt) {
      EXPECT_FALSE(doubt);
      was_durable = plane_.store().contents().contains("node_configs/c0");
      ++told;
    };
  })));
  EXPECT_TRUE(knows("c0")) << "what runs later has run";
  EXPECT_EQ(told, 0);
  plane_.store().let_go();
  while (told == 0) std::this_thread::yield();
  EXPECT_TRUE(was_durable);
}

TEST_F(SlowStore, AStoreCallComesAfterTheStepsBeforeIt) {
  std::promise<bool> saw;
  ASSERT_TRUE(plane_.loop().post(
      StoreCall{.make = [&](const store::Store& store) -> Result<std::vector<store::Change>> {
                  saw.set_value(store.get("node_configs/c0").value().has_value());
                  return std::vector<store::Change>();
                },
                .done = [](const Result<void>&) {}}));
  plane_.store().let_go();
  EXPECT_TRUE(saw.get_future().get());
}

TEST_F(SlowStore, WhenItFailsAllWhoWaitAreTold) {
  ask_for("c1");
  while (!knows("c1")) std::this_thread::yield();
  plane_.store().fail(true);
  plane_.store().let_go();
  wait_for_answers("c0! c1! ");
  plane_.store().fail(false);
  while (plane_.loop().trouble()) std::this_thread::yield();
  ask_for("c2");
  wait_for_answers("c0! c1! c2 ");
  EXPECT_TRUE(plane_.store().contents().contains("node_configs/c1")) << "it was decided";
}

TEST_F(SlowStore, WhatWasDecidedIsWrittenOnStopping) {
  ask_for("c1");
  while (!knows("c1")) std::this_thread::yield();
  plane_.loop().stop();
  plane_.store().let_go();
  wait_for_answers("c0 c1 ");
}

// What the store can be asked while it hangs: nobody is shown more than there is.
TEST_F(SlowStore, WatchersAreToldWhenItIsDurable) {
  const int socket = plane_.connect();
  std::atomic<bool> has_come = false;
  std::thread watcher([&] {
    talk(socket, "GET /v1/watch?kinds=nodeconfigs HTTP/1.1\r\nHost: x\r\n\r\n",
         [&](const std::string& all) { return all.find("c0") != std::string::npos; });
    has_come = true;
  });
  ask_for("c1");
  while (!knows("c1")) std::this_thread::yield();
  EXPECT_FALSE(has_come);
  plane_.store().let_go();
  watcher.join();
  ::close(socket);
  EXPECT_TRUE(plane_.store().contents().contains("node_configs/c0"));
}

TEST_F(SlowStore, WhatIsOnlyReportedCanBeSeen) {
  plane_.add_node("n1");
  EXPECT_EQ(answers(), "");
  EXPECT_NE(plane_.get("/metrics").find("berth_nodes"), std::string::npos);
}

TEST(Loop, WhenACommitIsOverdueEverybodyIsTold) {
  Plane plane(Plane::Options{
      .limits = {.mailbox = 100'000, .retry_commit_after = 5ms, .commit_overdue = 20ms}});
  call(plane.loop(), apply("first"));
  plane.store().hold();
  const Loop::Answer answer = call(plane.loop(), apply("c1"));
  ASSERT_TRUE(std::holds_alternative<Error>(answer));
  EXPECT_NE(std::get<Error>(answer).message.find("has not answered"), std::string::npos);
  EXPECT_NE(plane.get("/readyz").find("[-] store: it has not answered for 0 s"), std::string::npos);
  EXPECT_NE(plane.get("/v1/nodes").find("200 OK"), std::string::npos) << "can be seen";
  EXPECT_TRUE(std::holds_alternative<Error>(call(plane.loop(), apply("c2"))));
  plane.store().let_go();
  while (plane.loop().trouble()) std::this_thread::yield();
  EXPECT_TRUE(plane.store().contents().contains("node_configs/c1")) << "it was decided";
  EXPECT_TRUE(std::holds_alternative<control::Accepted>(call(plane.loop(), apply("c3"))));
}

TEST(Loop, NobodyBeginsToWatchWhatCannotBeMadeDurable) {
  Plane plane;
  plane.store().fail(true);
  call(plane.loop(), apply("c1"));
  const std::string refused = plane.get("/v1/watch?kinds=nodeconfigs");
  EXPECT_NE(refused.find("the store cannot be written"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("c1"), std::string::npos) << refused;
}

TEST(Loop, WhatCouldNotBeWrittenIsTriedOnceMoreOnStopping) {
  MoodyStore store;
  Loop loop(store, {}, {},
            {.send = [](const auto&) {},
             .stepped = [](const auto&, const auto&) { return Loop::Publishing(); }},
            {.retry_commit_after = 1h});
  std::thread thread([&] { loop.run(); });
  store.fail(true);
  call(loop, apply("c1"));
  while (!loop.trouble()) std::this_thread::yield();
  store.fail(false);
  loop.stop();
  thread.join();
  EXPECT_TRUE(store.contents().contains("node_configs/c1"));
}

TEST(Loop, WhoWasReplacedHasStopped) {
  Plane plane(Plane::Options{.fence = store::Fence{"owner", std::nullopt}});
  call(plane.loop(), apply("first"));
  plane.store().seize({"owner", "another"});
  const Loop::Answer answer = call(plane.loop(), apply("c1"));
  ASSERT_TRUE(std::holds_alternative<Error>(answer)) << "acknowledged by who has no store";
  EXPECT_FALSE(plane.store().contents().contains("node_configs/c1"));
  while (plane.loop().post(control::NodeConnected{model::NodeId("n1"), 1})) {
    std::this_thread::yield();
  }
  EXPECT_EQ(plane.loop().trouble()->code, Code::Conflict);
  EXPECT_TRUE(std::holds_alternative<Error>(call(plane.loop(), apply("c2"))));
  EXPECT_EQ(plane.get("/v1/nodeconfigs").find("c1"), std::string::npos);
  EXPECT_NE(plane.get("/readyz").find("[-] store"), std::string::npos);
}

TEST(Loop, AFullOutboxStopsTheCoreUntilTheStoreIsThereAgain) {
  Plane plane(Plane::Options{
      .limits = {.mailbox = 100'000, .retry_commit_after = 5ms, .outbox = {.steps = 2}}});
  plane.ask<bool>([](const control::Controller&) { return true; });
  plane.store().fail(true);
  plane.loop().call(apply("c1"), [](const Loop::Answer&) { return false; });
  while (!plane.loop().trouble()) std::this_thread::yield();
  const auto count = [&] {
    return plane.ask<std::size_t>(
        [](const control::Controller& controller) { return controller.nodes().size(); });
  };
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(
        plane.loop().post(control::NodeConnected{model::NodeId("n" + std::to_string(i)), 1}));
    count();
  }
  EXPECT_LE(count(), 2u);
  plane.store().fail(false);
  while (count() < 10) std::this_thread::yield();
}

// --- Join tokens, which share the store.

class JoinTokens : public testing::Test {
 protected:
  void store(const JoinGrant& grant) {
    std::promise<Result<void>> stored;
    store_token(plane_.loop(), token_, grant, now_, [&](const auto& r) { stored.set_value(r); });
    ASSERT_TRUE(stored.get_future().get());
  }
  Result<trust::Identity> take(const std::string& name) {
    std::promise<Result<trust::Identity>> taken;
    take_token(plane_.loop(), token_, name, now_, [&](const auto& r) { taken.set_value(r); });
    return taken.get_future().get();
  }

  Plane plane_;
  trust::WallTime now_ = std::chrono::system_clock::now();
  trust::Token token_{.secret = "secret", .fingerprint = "ab"};
};

TEST_F(JoinTokens, AreTakenOnce) {
  store({trust::Role::Node, "", now_ + std::chrono::hours(1), false});
  EXPECT_EQ(*take("n1"), (trust::Identity{trust::Role::Node, "n1"}));
  EXPECT_NE(take("n1").error().message.find("used already"), std::string::npos);
}

TEST_F(JoinTokens, ExpiredAndUnknownOnesAreRefused) {
  EXPECT_EQ(take("n1").error().code, Code::NotFound);
  store({trust::Role::Node, "", now_ - std::chrono::seconds(1), false});
  EXPECT_NE(take("n1").error().message.find("expired"), std::string::npos);
}

TEST_F(JoinTokens, MayBeForOneNameOnly) {
  store({trust::Role::Viewer, "kim", now_ + std::chrono::hours(1), false});
  EXPECT_EQ(take("lee").error().code, Code::InvalidInput);
  EXPECT_EQ(*take(""), (trust::Identity{trust::Role::Viewer, "kim"}));
}

TEST_F(JoinTokens, BindAClientToNamespaces) {
  const JoinGrant grant{
      trust::Role::Client, "lobby", now_ + std::chrono::hours(1), false, {"games", "chat"}};
  store(grant);
  EXPECT_EQ(*take(""), (trust::Identity{trust::Role::Client, "lobby", {"games", "chat"}}));
  JoinGrant nameless = grant;
  nameless.name.clear();
  EXPECT_EQ(decode_grant(encode(nameless))->namespaces, grant.namespaces);
}

TEST_F(JoinTokens, NamesMustBeNames) {
  store({trust::Role::Node, "", now_ + std::chrono::hours(1), false});
  EXPECT_FALSE(take("../etc"));
  EXPECT_FALSE(take(""));
  EXPECT_TRUE(take("n1")) << "a refusal does not use it up";
}

TEST_F(JoinTokens, TheStoreHasNoSecrets) {
  store({trust::Role::Node, "", now_ + std::chrono::hours(1), false});
  for (const auto& [key, value] : plane_.store().contents()) {
    EXPECT_EQ((key + value).find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::controld
