#include "online.h"

// `berth session`, and the pools of applications.
namespace berth::tests {
namespace {

constexpr const char* kBlue = R"({"name":"blue","namespace":"games","application":"echo",
 "instance":"@games/echo/7","node":"n1","state":"available","incarnation":1,
 "endpoints":[{"port":8080,"protocol":"tcp","external":"10.0.0.1:20001",
               "internal":"10.128.0.2:8080"}],
 "times":{"created":"2026-01-02T03:04:05.678Z","available":"2026-01-02T03:04:06Z"}})";

const std::string kOpen = "POST /v1/namespaces/games/applications/echo/sessions";

std::string failure(const std::string& code, const std::string& more = "") {
  return R"({"error":{"code":")" + code + R"(","message":"told why"})" + more + "}";
}

TEST_F(Online, SessionOpenPrintsWhereItIsReached) {
  server_.answer(kOpen, kBlue);
  const Finished opened =
      berth({"session", "open", "games/echo", "--name", "blue", "--data", "hi", "--timeout", "2s",
             "--ttl", "1h", "--request-id", "r1", "--reopen"});
  EXPECT_EQ(opened.exit_code, 0) << opened.err;
  EXPECT_EQ(opened.out, "games/blue\n  8080/tcp  10.0.0.1:20001\n");
  const json sent = json::parse(server_.received().front().body);
  EXPECT_EQ(sent["name"], "blue");
  EXPECT_EQ(sent["data"], "aGk=");
  EXPECT_EQ(sent["timeoutMs"], "2000");
  EXPECT_EQ(sent["ttlMs"], "3600000");
  EXPECT_EQ(sent["requestId"], "r1");
  EXPECT_EQ(sent["reopen"], true);
  const json printed = json::parse(berth({"session", "open", "games/echo", "-o", "json"}).out);
  EXPECT_EQ(printed["endpoints"][0]["external"], "10.0.0.1:20001");
  EXPECT_EQ(printed["times"]["ended"], nullptr);
  EXPECT_EQ(berth({"session", "open", "games/echo", "-o", "name"}).out, "session/games/blue\n");
}

TEST_F(Online, SessionNamesWithoutANamespaceAreInTheDefaultOne) {
  server_.answer("POST /v1/namespaces/default/applications/echo/sessions", kBlue);
  server_.answer("GET /v1/namespaces/default/sessions/blue", kBlue);
  EXPECT_EQ(berth({"session", "open", "echo"}).exit_code, 0);
  EXPECT_EQ(berth({"session", "describe", "blue"}).exit_code, 0);
}

TEST_F(Online, SessionOpenSaysByItsExitCodeWhyThereIsNone) {
  server_.answer(kOpen, Canned{.status = 503, .pieces = {failure("Busy", R"(,"retryAfterMs":9)")}});
  server_.answer(kOpen, Canned{.status = 504, .pieces = {failure("Timeout")}});
  server_.answer(kOpen, Canned{.status = 503, .pieces = {failure("Failed")}});
  server_.answer(kOpen, Canned{.status = 404, .pieces = {failure("NotFound")}});
  for (const int code : {7, 5, 1, 4}) {
    const Finished finished = berth({"session", "open", "games/echo"});
    EXPECT_EQ(finished.exit_code, code) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("told why"));
  }
}

TEST_F(Online, SessionCloseWaitsForItsEnd) {
  server_.answer(
      "DELETE /v1/namespaces/games/sessions/blue",
      R"({"name":"blue","namespace":"games","state":"closed","reason":"ClosedByCaller"})");
  EXPECT_EQ(berth({"session", "close", "games/blue", "--now"}).out,
            "games/blue  closed(ClosedByCaller)\n");
  EXPECT_THAT(lines_received().front(), HasSubstr("DELETE /v1/namespaces/games/sessions/blue"));
}

TEST_F(Online, SessionsAreListedAndDescribed) {
  server_.answer("GET /v1/sessions", std::string(R"({"sessions":[)") + kBlue + "]}");
  server_.answer("GET /v1/namespaces/games/sessions/blue", kBlue);
  server_.answer("GET /v1/events", kEvents);
  const std::string table =
      "NAMESPACE  NAME  APPLICATION  STATE      NODE  CLIENTS  ENDPOINTS\n"
      "games      blue  echo         available  n1          0  8080/tcp at 10.0.0.1:20001\n";
  EXPECT_EQ(berth({"session", "list", "-n", "games", "--application", "echo"}).out, table);
  EXPECT_EQ(berth({"get", "sessions"}).out, table);
  EXPECT_EQ(berth({"get", "sess", "-o", "name"}).out, "session/games/blue\n");
  EXPECT_EQ(json::parse(berth({"session", "list", "-o", "json"}).out)["sessions"].size(), 1u);
  EXPECT_THAT(berth({"session", "describe", "games/blue"}).out,
              HasSubstr("Endpoint:     8080/tcp at 10.0.0.1:20001, inside 10.128.0.2:8080\n"));
  EXPECT_THAT(berth({"describe", "session", "games/blue"}).out,
              HasSubstr("Instance:     @games/echo/7\n"));
}

TEST_F(Online, SessionWatchTellsEachChangeAsALine) {
  server_.stream("GET /v1/watch",
                 {std::string(R"({"session":)") + kBlue + "}", R"({"synced":true})",
                  R"({"session":{"name":"red","namespace":"x"}})"});
  server_.answer("GET /v1/watch",
                 Canned{.status = 403, .pieces = {R"({"error":{"message":"x"}})"}});
  EXPECT_EQ(berth({"session", "watch", "-n", "games"}).out,
            "games/blue  available  on n1  8080/tcp at 10.0.0.1:20001\n");
}

TEST(Offline, SessionSaysWhatIsWrong) {
  const auto berth = [](std::vector<std::string> arguments) {
    return run(kBerth, {std::move(arguments), "", {"BERTH_SOCKET=/nowhere.sock"}});
  };
  const Finished action = berth({"session", "opne", "games/echo"});
  EXPECT_EQ(action.exit_code, 3);
  EXPECT_THAT(action.err, HasSubstr("Did you mean \"open\"?"));
  EXPECT_THAT(berth({"session", "open"}).err, HasSubstr("which application?"));
  EXPECT_THAT(berth({"session", "close", "x", "--ttl", "1h"}).err,
              HasSubstr("--ttl is for berth session open"));
  EXPECT_THAT(berth({"session", "list", "x"}).err, HasSubstr("list takes no name"));
  EXPECT_THAT(berth({"session", "open", "x", "--data", "@/nowhere"}).err,
              HasSubstr("cannot read /nowhere"));
  EXPECT_THAT(berth({"delete", "session", "x"}).err, HasSubstr("berth session close"));
}

TEST_F(Online, GetApplicationsShowsTheirPools) {
  std::string documents = kApplications;
  documents.pop_back();
  documents += R"(,"pools":[{"namespace":"games","application":"echo","ready":3,"pending":1,
    "active":2,"waiting":4,"refusal":{"reason":"InsufficientCpu","message":"no node has 600"},
    "failure":{"reason":"ExitedEarly","message":"exit code 3"},"failures":2}]})";
  server_.answer("GET /v1/applications", documents);
  server_.answer("GET /v1/instances", kInstances);
  server_.answer("GET /v1/events", kEvents);
  EXPECT_EQ(berth({"get", "applications"}).out,
            "NAMESPACE  NAME  ITEM  VERSION  MIN  MAX  READY  PENDING  STANDBY  ACTIVE  "
            "TERMINATING  WAITING\n"
            "default    echo  web              0    1      0        0        0       0  "
            "          0        0\n"
            "games      echo  web   1.0.0      2  100      3        1        0       2  "
            "          0        4\n");
  const json printed = json::parse(berth({"get", "applications", "-o", "json"}).out);
  EXPECT_EQ(printed["pools"][0]["ready"], 3);
  const std::string described = berth({"describe", "application", "games/echo"}).out;
  EXPECT_THAT(described, HasSubstr("3 ready, 1 pending, 0 standby, 2 active, 0 terminating"));
  EXPECT_THAT(described, HasSubstr("InsufficientCpu: no node has 600"));
  EXPECT_THAT(described, HasSubstr("ExitedEarly: exit code 3"));
}

TEST_F(Online, CompletionKnowsSessions) {
  answer_everything();
  server_.answer("GET /v1/sessions", std::string(R"({"sessions":[)") + kBlue + "]}");
  EXPECT_EQ(berth({"__complete", "--", "session", "o"}).out, "open\n");
  EXPECT_EQ(berth({"__complete", "--", "session", "open", ""}).out, "default/echo\ngames/echo\n");
  EXPECT_EQ(berth({"__complete", "--", "session", "close", ""}).out, "games/blue\n");
  EXPECT_EQ(berth({"__complete", "--", "get", "sessions", ""}).out, "games/blue\n");
}

TEST_F(Online, JoinTokenBindsAClientToNamespaces) {
  server_.answer("POST /v1/join-tokens", R"({"token":"berth1.a.b","line":"x"})");
  EXPECT_EQ(berth({"join-token", "--role", "client", "--namespace", "games", "--namespace", "chat"})
                .exit_code,
            0);
  EXPECT_EQ(json::parse(server_.received().front().body)["namespaces"], (json{"games", "chat"}));
}

}  // namespace
}  // namespace berth::tests
