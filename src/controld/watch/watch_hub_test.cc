#include "controld/watch/watch_hub.h"

#include <gtest/gtest.h>

#include <future>

#include "berth/v1/api.pb.h"

namespace berth::controld {
namespace {

InstanceView instance(const std::string& item, model::InstanceState state) {
  InstanceView view;
  view.status.key = {model::ItemId(item), model::SubjectId("default"), 0};
  view.status.state = state;
  return view;
}

constexpr auto kActive = model::InstanceState::Active;

class WatchHubTest : public testing::Test {
 protected:
  // Everything that was put into the hub has been dealt with.
  void settle() {
    std::promise<void> done;
    hub_.in_order([&] { done.set_value(); });
    done.get_future().wait();
  }
  // "web active", "synced", in the order of sending.
  std::vector<std::string> read(api::Call& call) {
    std::vector<std::string> words;
    while (true) {
      const api::Call::Next next = call.next();
      const auto* answer = std::get_if<api::AnswerPtr>(&next);
      if (answer == nullptr) return words;
      words.push_back(in_words((*answer)->message()));
      settle();
    }
  }
  static std::string in_words(const api::Message& message) {
    if (const auto* status = dynamic_cast<const v1::ApplyEvent*>(&message)) {
      return "status of " + status->status().key().item();
    }
    const auto& event = dynamic_cast<const v1::WatchEvent&>(message);
    if (event.has_instance()) {
      return event.instance().key().item() + " " + v1::InstanceState_Name(event.instance().state());
    }
    if (event.has_node()) return "node " + event.node().name();
    if (event.has_event()) return "event " + event.event().about();
    if (event.has_gone()) return event.gone().kind() + " " + event.gone().name() + " gone";
    if (event.has_document()) {
      return "document " + event.document().fields().at("kind").string_value();
    }
    return "synced";
  }

  WatchHub hub_{4};
};

TEST_F(WatchHubTest, FirstEverythingThenSyncedThenChanges) {
  const auto call = std::make_shared<api::Call>(api::Caller{});
  NodeView node;
  node.id = model::NodeId("n1");
  hub_.add({.call = call, .about = ""}, {.instances = {instance("web", kActive)}, .nodes = {node}});
  hub_.publish({.instances = {instance("web", model::InstanceState::Failed)}});
  settle();
  EXPECT_EQ(read(*call),
            (std::vector<std::string>{"node n1", "web ACTIVE", "synced", "web FAILED"}));
}

TEST_F(WatchHubTest, AWatcherHearsOnlyWhatItAskedFor) {
  const auto call = std::make_shared<api::Call>(api::Caller{});
  hub_.add(
      {.call = call, .about = "instance/web", .topics = {"instances", "nodes", "events"}},
      {.instances = {instance("web", kActive), instance("db", kActive)}, .nodes = {NodeView{}}});
  hub_.publish({.instances = {instance("db", kActive), instance("web", kActive)},
                .events = {{.number = 1, .kind = "Placed", .about = "instance/web/x/0"},
                           {.number = 2, .kind = "Placed", .about = "node/n1"}}});
  settle();
  EXPECT_EQ(read(*call), (std::vector<std::string>{"web ACTIVE", "synced", "web ACTIVE",
                                                   "event instance/web/x/0"}));
}

TEST_F(WatchHubTest, EverythingComesInPiecesAndChangesAfterIt) {
  const auto call = std::make_shared<api::Call>(api::Caller{}, 400);
  std::vector<InstanceView> many(1000, instance("web", kActive));
  hub_.add({.call = call, .about = ""}, {.instances = many, .nodes = {}});
  settle();
  hub_.publish({.instances = {instance("late", kActive)}});
  settle();
  const auto words = read(*call);
  ASSERT_EQ(words.size(), 1002u);
  EXPECT_EQ(words[999], "web ACTIVE");
  EXPECT_EQ(words[1000], "synced");
  EXPECT_EQ(words[1001], "late ACTIVE");
}

TEST_F(WatchHubTest, WhoDoesNotReadIsDroppedAndOthersAreNot) {
  const auto slow = std::make_shared<api::Call>(api::Caller{}, 3);
  const auto quick = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = slow, .about = ""}, {});
  hub_.add({.call = quick, .about = ""}, {});
  EXPECT_EQ(hub_.watchers(), 2u);
  for (int i = 0; i < 10; ++i) hub_.publish({.instances = {instance("web", kActive)}});
  settle();
  settle();  // the removal was put behind
  EXPECT_TRUE(slow->is_over());
  EXPECT_EQ(slow->failure()->code, Code::Exhausted);
  EXPECT_EQ(hub_.watchers(), 1u);
  EXPECT_EQ(read(*quick).size(), 11u);
}

TEST_F(WatchHubTest, OneOfAThousandWatchersWhoNeverReadsKeepsNobodyWaiting) {
  std::vector<std::shared_ptr<api::Call>> calls;
  for (int i = 0; i < 1000; ++i) {
    calls.push_back(std::make_shared<api::Call>(api::Caller{}, i == 0 ? 3 : 100));
    hub_.add({.call = calls.back(), .about = ""}, {});
  }
  for (int i = 0; i < 20; ++i) hub_.publish({.instances = {instance("web", kActive)}});
  settle();
  settle();
  EXPECT_TRUE(calls[0]->is_over());
  for (int i = 1; i < 1000; ++i) EXPECT_EQ(read(*calls[static_cast<std::size_t>(i)]).size(), 21u);
  EXPECT_EQ(hub_.watchers(), 999u);
}

TEST_F(WatchHubTest, WhoFallsBehindBeforeItIsSyncedIsDropped) {
  const auto call = std::make_shared<api::Call>(api::Caller{});
  std::vector<InstanceView> many(1000, instance("web", kActive));
  hub_.add({.call = call, .about = ""}, {.instances = many, .nodes = {}});
  for (int i = 0; i < 10; ++i) hub_.publish({.instances = {instance("web", kActive)}});
  settle();
  EXPECT_TRUE(call->is_over());
}

TEST_F(WatchHubTest, AnApplyCallHearsOfItsInstances) {
  const auto call = std::make_shared<api::Call>(api::Caller{});
  const model::InstanceKey web = instance("web", kActive).status.key;
  hub_.add({.call = call, .about = "", .only = std::set{web}},
           {.instances = {instance("web", kActive)}, .nodes = {}});
  hub_.publish({.instances = {instance("db", kActive), instance("web", kActive)}});
  settle();
  EXPECT_EQ(read(*call), (std::vector<std::string>{"status of web", "status of web"}));
}

TEST_F(WatchHubTest, AWatcherWhoLeavesIsForgotten) {
  const auto call = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = call, .about = ""}, {});
  settle();
  call->abandon();
  settle();
  EXPECT_FALSE(hub_.wants_changes());
}

DocumentChange subject_gone(const std::string& subject) {
  return {model::find_document_kind("Subject"), subject, std::nullopt};
}
DocumentChange subject_put(const std::string& subject) {
  DocumentChange change = subject_gone(subject);
  change.document = model::Subject{.id = model::SubjectId(subject)};
  return change;
}

TEST_F(WatchHubTest, DocumentsAreToldToWhoAsksForTheirKind) {
  const auto call = std::make_shared<api::Call>(api::Caller{});
  const auto other = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = call, .about = "", .topics = {"subjects"}, .told_revisions = true},
           {.instances = {instance("web", kActive)},
            .nodes = {},
            .documents = {model::Subject{.id = model::SubjectId("car")}}});
  hub_.add({.call = other, .about = ""}, {});
  hub_.publish({.instances = {instance("web", kActive)},
                .documents = {subject_put("bus"), subject_gone("car")}});
  settle();
  EXPECT_EQ(read(*call), (std::vector<std::string>{"document Subject", "synced", "document Subject",
                                                   "Subject car gone"}));
  EXPECT_EQ(read(*other), (std::vector<std::string>{"synced", "web ACTIVE"}));
}

// The revision of the last message that has one.
std::uint64_t last_revision(api::Call& call) {
  std::uint64_t last = 0;
  while (true) {
    const api::Call::Next next = call.next();
    const auto* answer = std::get_if<api::AnswerPtr>(&next);
    if (answer == nullptr) return last;
    const auto& event = dynamic_cast<const v1::WatchEvent&>((*answer)->message());
    if (event.has_revision()) last = event.revision();
  }
}

TEST_F(WatchHubTest, WhoComesBackGetsWhatCameAfter) {
  const auto first = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = first, .about = "", .told_revisions = true}, {});
  hub_.publish({.instances = {instance("seen", kActive)}});
  settle();
  const std::uint64_t seen = last_revision(*first);
  first->abandon();
  settle();
  hub_.publish({.instances = {instance("missed", kActive)}, .documents = {subject_gone("car")}});
  const auto again = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = again, .about = "", .told_revisions = true, .after = seen}, {});
  hub_.publish({.instances = {instance("new", kActive)}});
  settle();
  EXPECT_EQ(read(*again), (std::vector<std::string>{"missed ACTIVE", "synced", "new ACTIVE"}));
}

TEST_F(WatchHubTest, WhoComesBackTooLateIsToldToBeginAnew) {
  const auto first = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = first, .about = "", .told_revisions = true}, {});
  settle();
  const std::uint64_t seen = last_revision(*first);
  for (std::size_t i = 0; i <= WatchHistory::kKept; ++i) {
    hub_.publish({.instances = {instance("web", kActive)}});
    if (i % 1000 == 0) settle();
  }
  const auto again = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = again, .about = "", .told_revisions = true, .after = seen}, {});
  settle();
  ASSERT_TRUE(again->failure());
  EXPECT_EQ(again->failure()->code, Code::Conflict);
}

TEST_F(WatchHubTest, WhoDoesNotAskIsToldNoRevisions) {
  const auto call = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = call, .about = ""}, {});
  hub_.publish({.instances = {instance("web", kActive)}});
  settle();
  EXPECT_EQ(last_revision(*call), 0u);
}

TEST_F(WatchHubTest, StoppingEndsTheWatches) {
  const auto call = std::make_shared<api::Call>(api::Caller{});
  hub_.add({.call = call, .about = ""}, {});
  settle();
  hub_.stop();
  EXPECT_EQ(call->failure()->code, Code::Unavailable);
}

}  // namespace
}  // namespace berth::controld
