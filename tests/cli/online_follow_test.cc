#include "online.h"

namespace berth::tests {
namespace {

// --- logs, wait, tokens

TEST_F(Online, LogsGoWhereTheInstanceWroteThem) {
  answer_everything();
  // "out\n" and "err\n" in base64
  server_.stream("GET /v1/instances/web%2Fvehicle%2F1/logs",
                 {R"({"data":"b3V0Cg=="})", R"({"data":"ZXJyCg==","fromStderr":true})"});
  const Finished finished = berth({"logs", "web/vehicle/1", "--tail", "5", "-f"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, "out\n");
  EXPECT_EQ(finished.err, "err\n");
  EXPECT_EQ(lines_received().back(), "GET /v1/instances/web%2Fvehicle%2F1/logs?tail=5&follow=true");
}

TEST_F(Online, LogsOfANodeThatIsAwayAreNotAnUnreachableControlPlane) {
  answer_everything();
  server_.answer("GET /v1/instances/web%2Fvehicle%2F0/logs",
                 Canned{.status = 503,
                        .pieces = {R"({"error":{"code":"Unavailable","message":"n1 is away"}})"}});
  const Finished finished = berth({"logs", "web"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("n1 is away"));
}

TEST_F(Online, WaitEndsWhenItIsSo) {
  server_.answer("GET /v1/deployments", kDeployments);
  const auto instance = [](int index, const char* state, bool proven) {
    return R"({"instance":{"key":{"item":"web","subject":"vehicle","index":)" +
           std::to_string(index) + R"(},"proven":)" + (proven ? "true" : "false") +
           R"(,"state":")" + state + "\"}}";
  };
  server_.stream("GET /v1/watch",
                 {R"({"node":{"name":"n1","liveness":"reachable"}})", instance(0, "ACTIVE", true),
                  instance(1, "ACTIVATING", false), R"({"synced":true})",
                  instance(1, "ACTIVE", false), instance(1, "ACTIVE", true)},
                 true);
  const Finished finished =
      berth({"wait", "--for", "deployment/base=active", "--for", "node/n1=reachable", "--for",
             "instance/web=active", "--timeout", "60s"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "deployment/base=active holds\nnode/n1=reachable holds\ninstance/web=active holds\n");
}

TEST_F(Online, WaitSaysFiveAndWhatIsTheCaseInstead) {
  server_.stream("GET /v1/watch",
                 {R"({"instance":{"key":{"item":"web","subject":"s"},"state":"FAILED",
                     "problem":{"reason":"ExitedEarly"}}})",
                  R"({"synced":true})"},
                 true);
  const Finished finished = berth({"wait", "--for", "instance/web=active", "--timeout", "300ms"});
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_THAT(finished.err, HasSubstr("web/s/0 is Failed(ExitedEarly)"));
  EXPECT_EQ(berth({"wait", "--for", "instance/web=actve"}).exit_code, 3);
  EXPECT_EQ(berth({"wait", "--for", "item/web=active"}).exit_code, 3);
  EXPECT_EQ(berth({"wait", "--for", "instance/web=active", "--timeout", "soon"}).exit_code, 3);
}

TEST_F(Online, WaitDoesNotTakeWhatMayStillCrashForActive) {
  server_.stream("GET /v1/watch",
                 {R"({"instance":{"key":{"item":"web","subject":"s"},"state":"ACTIVE"}})",
                  R"({"synced":true})"},
                 true);
  const Finished finished = berth({"wait", "--for", "instance/web=active", "--timeout", "300ms"});
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_THAT(finished.err, HasSubstr("web/s/0 is Active, and has yet to show that it stays so"));
}

TEST_F(Online, WaitSaysTwoWhenAllThatIsMissingIsOnNodesThatAreAway) {
  server_.stream("GET /v1/watch",
                 {R"({"instance":{"key":{"item":"web","subject":"s"},"state":"ACTIVE","away":true,
                      "unverified":true,"place":{"node":"n2"}}})",
                  R"({"synced":true})"},
                 true);
  const Finished finished = berth({"wait", "--for", "instance/web=active"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("web/s/0 is Active(Unverified) on n2; its node is away"));
}

TEST_F(Online, WaitSurvivesARestartOfTheControlPlane) {
  server_.stream("GET /v1/watch", {R"({"synced":true})"});
  server_.stream("GET /v1/watch",
                 {R"({"node":{"name":"n1","liveness":"reachable"}})", R"({"synced":true})"}, true);
  EXPECT_EQ(berth({"wait", "--for", "node/n1=reachable", "--timeout", "60s"}).exit_code, 0);
}

TEST_F(Online, JoinTokenPrintsTheLineToPaste) {
  server_.answer("POST /v1/join-tokens",
                 R"({"token":"berth1.a.b","line":"berth-agent --join x","expiresMs":"1"})");
  const Finished finished = berth({"join-token", "--name", "n4", "--ttl", "10m"});
  EXPECT_EQ(finished.out, "berth-agent --join x\n");
  EXPECT_EQ(server_.received()[0].body, R"({"role":"node","name":"n4","ttlMs":"600000"})");
  EXPECT_EQ(berth({"join-token", "-o", "name"}).out, "berth1.a.b\n");
  EXPECT_EQ(berth({"join-token", "--role", "king"}).exit_code, 3);
}

TEST_F(Online, LoginRefusesWhatIsNoServerOrToken) {
  EXPECT_EQ(berth({"login", "unit7", "t"}).exit_code, 3);
  EXPECT_EQ(berth({"login", "https://unit7:8443", "nonsense"}).exit_code, 3);
}

TEST_F(Online, TheCommandLineCountsMoreThanTheEnvironment) {
  answer_everything();
  const std::string server = "BERTH_SERVER=https://nowhere:1";
  EXPECT_EQ(berth({"get", "nodes", "--socket", server_.socket()}, "", {server}).exit_code, 0);
  EXPECT_EQ(berth({"--socket=" + server_.socket(), "get", "nodes"}, "", {server}).exit_code, 0);
  EXPECT_EQ(berth({"get", "nodes"}, "", {server}).exit_code, 3);  // nobody has logged in
}

// --- what helps

TEST_F(Online, CompletionAsksForNames) {
  answer_everything();
  EXPECT_EQ(berth({"__complete", "--", "drain", ""}).out, "n1\nn2\n");
  EXPECT_EQ(berth({"__complete", "--", "logs", "-f", "web"}).out, "");
  EXPECT_EQ(berth({"__complete", "--", "logs", "web"}).out, "web/vehicle/0\nweb/vehicle/1\n");
  EXPECT_EQ(berth({"__complete", "--", "get", "no"}).out, "nodes\nnodeconfigs\n");
  EXPECT_EQ(berth({"__complete", "--", "get", "items", ""}).out, "web@1.0.0\nweb@1.1.0\n");
  EXPECT_EQ(berth({"__complete", "--", "get", "instances", "--node", ""}).out, "n1\nn2\n");
  EXPECT_EQ(berth({"__complete", "--", "nothing", ""}).out, "");
}

TEST(Offline, CompletionIsSilentWithoutAControlPlane) {
  const Finished finished =
      run(kBerth, {{"__complete", "--", "drain", ""}, "", {"BERTH_SOCKET=/nowhere.sock"}});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out + finished.err, "");
}

TEST(Offline, EveryOnlineVerbSaysSixWithoutAControlPlane) {
  const std::vector<std::vector<std::string>> calls{{"get", "nodes"},
                                                    {"get", "nodes", "--watch"},
                                                    {"describe", "node", "n1"},
                                                    {"top"},
                                                    {"events"},
                                                    {"events", "--watch"},
                                                    {"delete", "item", "x"},
                                                    {"drain", "n1"},
                                                    {"cordon", "n1"},
                                                    {"uncordon", "n1"},
                                                    {"pause", "web"},
                                                    {"resume", "web"},
                                                    {"forget", "n1"},
                                                    {"logs", "x"},
                                                    {"exec", "x", "--", "true"},
                                                    {"why", "x"},
                                                    {"plan"},
                                                    {"wait", "--for", "node/n1=reachable"},
                                                    {"session", "open", "games/echo"},
                                                    {"session", "close", "games/blue"},
                                                    {"session", "list"},
                                                    {"session", "watch"},
                                                    {"get", "sessions"},
                                                    {"join-token"}};
  for (const auto& call : calls) {
    const Finished finished = run(kBerth, {call, "", {"BERTH_SOCKET=/nowhere.sock"}});
    EXPECT_EQ(finished.exit_code, 6) << call.front() << ": " << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("/nowhere.sock")) << call.front();
  }
}

TEST(Offline, EveryVerbHasExamplesAndAManualPage) {
  const std::string directory = std::filesystem::temp_directory_path() / "berth-man-test";
  EXPECT_EQ(run(kBerth, {{"man", "--directory", directory}, "", {}}).exit_code, 0);
  for (const char* verb :
       {"apply",  "plan",     "why",    "get",        "describe", "delete", "logs",
        "exec",   "top",      "events", "wait",       "pause",    "resume", "drain",
        "cordon", "uncordon", "forget", "join-token", "login",    "session"}) {
    const Finished help = run(kBerth, {{verb, "-h"}, "", {}});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.out, HasSubstr("Examples:\n")) << verb;
    EXPECT_THAT(help.out, HasSubstr("Exit codes:")) << verb;
    EXPECT_TRUE(std::filesystem::exists(directory + "/berth-" + verb + ".1")) << verb;
  }
  std::filesystem::remove_all(directory);
}

TEST(Offline, HiddenVerbsAreNotListed) {
  const std::string help = run(kBerth, {{"--help"}, "", {}}).out;
  EXPECT_THAT(help, Not(HasSubstr("__complete")));
  EXPECT_THAT(run(kBerth, {{"completion", "bash"}, "", {}}).out, HasSubstr("berth __complete"));
}

}  // namespace
}  // namespace berth::tests
