#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>

#include "controld/api/calls.h"
#include "controld/testing/plane.h"

// Sessions from end to end: HTTP on one side, an agent that does what it is told on the other.
namespace berth::controld {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

model::Manifest an_application(std::uint32_t maximum) {
  model::Item item;
  item.id = model::ItemId("echo");
  item.version = "1";
  item.images.emplace_back().form = model::CommandImage{{"x"}};
  item.ports.push_back({.number = 8080});
  model::Application application;
  application.name = "echo";
  application.ns = "games";
  application.item = item.id;
  application.scaling.maximum = maximum;
  return {model::Namespace{"games"}, item, application};
}

const std::string kSessions = "/v1/namespaces/games/applications/echo/sessions";

class Sessions : public testing::Test {
 protected:
  explicit Sessions(const Plane::Options& options = {}) : plane_(options) {}

  void apply(std::uint32_t maximum) {
    std::promise<Loop::Answer> answer;
    plane_.loop().call(
        [&](control::CallId id) {
          return control::ApplyCall{id, an_application(maximum), std::nullopt};
        },
        [&](const Loop::Answer& given) {
          answer.set_value(given);
          return false;
        });
    const Loop::Answer given = answer.get_future().get();
    const auto* error = std::get_if<Error>(&given);
    ASSERT_EQ(error, nullptr) << error->message;
  }

  std::string erase(const std::string& path) {
    return plane_.exchange("DELETE " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  // Sends it and does not wait.
  int begin(const std::string& body) {
    const int socket = plane_.connect();
    talk(socket,
         "POST " + kSessions + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body,
         [](const std::string&) { return true; });
    return socket;
  }

  void wait_for_state(model::SessionState state) {
    plane_.wait_until([state](const control::Controller& controller) {
      const auto all = controller.session_statuses();
      return all.size() == 1 && all.front().state == state;
    });
  }

  // Something that does not become durable.
  void write_in_vain() {
    plane_.store().hold();
    const std::size_t attempts = plane_.store().attempts();
    plane_.loop().call(
        [](control::CallId id) {
          model::NodeConfig config;
          config.name = "c1";
          return control::ApplyCall{id, {config}, std::nullopt};
        },
        [](const Loop::Answer&) { return false; });
    while (plane_.store().attempts() == attempts) std::this_thread::yield();
  }

  Loop::SessionAnswer open(const std::string& application) {
    std::promise<Loop::SessionAnswer> answer;
    plane_.loop().call_session(
        [&](control::CallId id) {
          control::OpenSessionCall open;
          open.call = id;
          open.application = {"games", application};
          return open;
        },
        [&](const Loop::SessionAnswer& given) { answer.set_value(given); });
    return answer.get_future().get();
  }

  Plane plane_;
};

TEST_F(Sessions, AreOpenedShownAndClosed) {
  plane_.add_node("n1");
  apply(2);
  const std::string opened = plane_.post(kSessions, R"({"name":"blue","data":"aGk="})");
  EXPECT_THAT(opened, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(opened, AllOf(HasSubstr(R"("name":"blue")"), HasSubstr(R"("namespace":"games")"),
                            HasSubstr(R"("state":"available")"), HasSubstr(R"("port":8080)"),
                            HasSubstr(R"("node":"n1")"), HasSubstr(R"("incarnation":1)")));
  EXPECT_THAT(plane_.post(kSessions, R"({"name":"blue"})"), StartsWith("HTTP/1.1 200"))
      << "the same caller gets the same session";
  EXPECT_THAT(plane_.get("/v1/namespaces/games/sessions/blue"), HasSubstr(R"("name":"blue")"));
  EXPECT_THAT(plane_.get("/v1/sessions"), HasSubstr(R"("name":"blue")"));
  EXPECT_THAT(plane_.get("/v1/sessions?application=other"), HasSubstr(R"("sessions":[])"));
  EXPECT_THAT(plane_.get("/v1/namespaces/games/sessions?state=x"), HasSubstr("is no state"));
  EXPECT_THAT(plane_.get("/v1/applications/games/echo"), HasSubstr(R"("active":1)"));
  EXPECT_THAT(plane_.get("/v1/instances"), HasSubstr(R"("item":"@games","subject":"echo")"));
  EXPECT_THAT(erase("/v1/namespaces/games/sessions/blue"), HasSubstr(R"("state":"closed")"));
  EXPECT_THAT(erase("/v1/namespaces/games/sessions/green"), HasSubstr("404"));
}

TEST_F(Sessions, RefusalsSayWhatIsWrong) {
  apply(1);
  EXPECT_THAT(plane_.post("/v1/namespaces/none/applications/echo/sessions", "{}"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("no namespace none")));
  EXPECT_THAT(plane_.post("/v1/namespaces/games/applications/ecco/sessions", "{}"),
              HasSubstr("no application games/ecco"));
  EXPECT_THAT(plane_.post(kSessions, R"({"name":"a/b"})"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(plane_.post(kSessions, R"({"timeoutMs":0})"), HasSubstr("timeoutMs must be"));
  EXPECT_THAT(plane_.get("/v1/namespaces/games/sessions/none"), StartsWith("HTTP/1.1 404"));
}

TEST_F(Sessions, OneThatIsNotAvailableInTimeIsAnErrorWithTheSession) {
  apply(1);
  EXPECT_THAT(plane_.post(kSessions, R"({"name":"blue","timeoutMs":1})"),
              AllOf(StartsWith("HTTP/1.1 504"), HasSubstr(R"("code":"Timeout")"),
                    HasSubstr(R"("session":{"name":"blue")")));
}

TEST_F(Sessions, WhoIsTooManyIsToldWhenToTryAgain) {
  apply(1);
  const int first = begin(R"({"name":"blue","timeoutMs":60000})");
  wait_for_state(model::SessionState::Pending);
  EXPECT_THAT(plane_.post(kSessions, R"({"name":"green"})"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: "),
                    HasSubstr(R"("code":"Busy")"), HasSubstr(R"("retryAfterMs":)")));
  ::close(first);
  wait_for_state(model::SessionState::Closed);  // nobody waits for it any more
}

TEST_F(Sessions, WaitForNoDisk) {
  plane_.add_node("n1");
  apply(3);
  ASSERT_TRUE(std::holds_alternative<model::SessionStatus>(open("echo")));
  const std::size_t before = plane_.pool_commands().size();
  write_in_vain();
  EXPECT_TRUE(std::holds_alternative<Error>(open("nothing")));
  EXPECT_TRUE(std::holds_alternative<model::SessionStatus>(open("echo")));
  EXPECT_GT(plane_.pool_commands().size(), before);
}

class SessionsOfASmallOutbox : public Sessions {
 protected:
  SessionsOfASmallOutbox()
      : Sessions({.limits = {.retry_commit_after = 5ms, .outbox = {.steps = 3}}}) {}
};

TEST_F(SessionsOfASmallOutbox, DoNotFillItWhileTheDiskIsSlow) {
  write_in_vain();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(std::holds_alternative<Error>(open("nothing")));
}

TEST_F(Sessions, AreOpenedWhileTheStoreIsInTrouble) {
  plane_.add_node("n1");
  apply(3);
  ASSERT_TRUE(std::holds_alternative<model::SessionStatus>(open("echo")));
  plane_.store().fail(true);
  plane_.loop().call(
      [](control::CallId id) {
        return control::CordonCall{id, model::NodeId("n1")};
      },
      [](const Loop::Answer&) { return false; });
  while (!plane_.loop().trouble()) std::this_thread::yield();
  const Loop::SessionAnswer answer = open("nothing");
  ASSERT_TRUE(std::holds_alternative<Error>(answer));
  EXPECT_EQ(std::get<Error>(answer).code, Code::NotFound);
}

TEST_F(Sessions, WhoWaitsWhenTheLoopStopsIsTold) {
  apply(1);
  std::promise<Loop::SessionAnswer> answer;
  plane_.loop().call_session(
      [&](control::CallId id) {
        control::OpenSessionCall open;
        open.call = id;
        open.application = {"games", "echo"};
        open.timeout = 60s;
        return open;
      },
      [&](const Loop::SessionAnswer& given) { answer.set_value(given); });
  wait_for_state(model::SessionState::Pending);
  plane_.loop().stop();
  const Loop::SessionAnswer given = answer.get_future().get();
  ASSERT_TRUE(std::holds_alternative<Error>(given));
  EXPECT_EQ(std::get<Error>(given).code, Code::Unavailable);
  EXPECT_TRUE(std::holds_alternative<Error>(open("echo"))) << "nor is anybody who comes later";
}

TEST(WaitingOpens, OfOneCallerAreBounded) {
  api::WaitingOpens opens(2);
  EXPECT_TRUE(opens.enter("a"));
  EXPECT_TRUE(opens.enter("a"));
  EXPECT_FALSE(opens.enter("a"));
  EXPECT_TRUE(opens.enter("b"));
  opens.leave("a");
  EXPECT_TRUE(opens.enter("a"));
}

}  // namespace
}  // namespace berth::controld
