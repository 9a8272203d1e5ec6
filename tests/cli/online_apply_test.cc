#include "online.h"

namespace berth::tests {
namespace {

TEST_F(Online, ApplyTellsTheWayToTheEnd) {
  server_.stream("POST /v1/apply", {kAccepted, status(0, "ACTIVATING"), status(0, "ACTIVE"),
                                    status(1, "ACTIVE"), finished_with("ACTIVE")});
  const Finished finished = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "Accepted as revision 43.\n"
            "app/vehicle/0  Activating  on n1\n"
            "app/vehicle/0  Active  on n1\n"
            "app/vehicle/1  Active  on n1\n"
            "2 active\n");
  const json request = json::parse(server_.received()[0].body);
  EXPECT_EQ(request["wait"], true);
  EXPECT_EQ(request["files"][0]["name"], "<stdin>");
  EXPECT_EQ(request["files"][0]["text"], kTwoInstances);
}

TEST_F(Online, ApplySaysOneIfSomethingFailed) {
  server_.stream("POST /v1/apply", {kAccepted, finished_with("FAILED")});
  const Finished finished = berth({"apply", "-f", "-", "-o", "json"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 1);
  const json answer = json::parse(finished.out);
  EXPECT_EQ(answer["revision"], 43);
  EXPECT_EQ(answer["instances"][1]["state"], "Failed");
  EXPECT_EQ(answer["instances"][1]["reason"], "ExitedEarly");
}

TEST_F(Online, ApplySaysTwoIfSomethingCouldNotBePlaced) {
  server_.stream("POST /v1/apply",
                 {R"({"accepted":{"revision":"43","instances":[{"item":"app","subject":"vehicle"}],
                     "refused":[{"key":{"item":"app","subject":"vehicle"},
                                 "problem":{"reason":"InsufficientCpu"}}],
                     "warnings":["a.yaml:1:1: warning: odd"]}})",
                  R"({"finished":{"instances":[{"key":{"item":"app","subject":"vehicle"},
                     "state":"FAILED","problem":{"reason":"InsufficientCpu"}}]}})"});
  const Finished finished = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.out, HasSubstr("app/vehicle/0  Failed(InsufficientCpu)"));
  EXPECT_THAT(finished.err, HasSubstr("a.yaml:1:1: warning: odd"));
  EXPECT_THAT(finished.err, HasSubstr("berth why"));
}

TEST_F(Online, ApplySaysFiveWhenTheTimeIsUpHereOrThere) {
  server_.stream("POST /v1/apply", {kAccepted, finished_with("ACTIVATING", true)});
  server_.stream("POST /v1/apply", {kAccepted}, true);
  const Finished there = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(there.exit_code, 5);
  EXPECT_THAT(there.err, HasSubstr("app/vehicle/1  Activating(ExitedEarly)"));
  const Finished here = berth({"apply", "-f", "-", "--timeout", "1s"}, kTwoInstances);
  EXPECT_EQ(here.exit_code, 5);
  EXPECT_THAT(here.err, HasSubstr("goes on"));
  EXPECT_THAT(here.err, HasSubstr("app/vehicle/0  nothing is known of it yet"));
}

TEST_F(Online, ApplySaysWhatWasNotDecidedInTime) {
  server_.stream("POST /v1/apply", {}, true);
  const Finished finished = berth({"apply", "-f", "-", "--timeout", "300ms"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_THAT(finished.err, HasSubstr("whether this was accepted is not known"));
  EXPECT_THAT(finished.err, HasSubstr("  deployment/base\n"));
  EXPECT_THAT(finished.err, Not(HasSubstr("what was accepted goes on")));
}

TEST_F(Online, ApplySaysFiveWhenItIsTakenButNotDurable) {
  server_.answer(
      "POST /v1/apply",
      Canned{
          .status = 507,
          .pieces = {
              R"({"error":{"code":"NotDurable","message":"not durable yet: the disk is full"}})"}});
  const Finished finished = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_THAT(finished.err, HasSubstr("not durable yet: the disk is full"));
}

TEST_F(Online, ApplyRefusesWhatNoControlPlaneTakes) {
  const Finished large = berth({"apply", "-f", "-"}, std::string((16u << 20) + 1, '#'));
  EXPECT_EQ(large.exit_code, 3);
  EXPECT_THAT(large.err, HasSubstr("<stdin>: error: is too large: a manifest has 16 MiB at most"));
  const Finished program = berth({"apply", "-f", kBerth});
  EXPECT_EQ(program.exit_code, 3);
  EXPECT_THAT(program.err, Not(HasSubstr("protobuf")));
  const Finished binary = berth({"apply", "-f", "-"}, std::string("\x7f"
                                                                  "ELF\x02\x01\0\xff",
                                                                  8));
  EXPECT_EQ(binary.exit_code, 3);
  EXPECT_THAT(binary.err,
              HasSubstr("<stdin>:1:5: error: not text (byte 0x02); a manifest is YAML"));
  EXPECT_THAT(lines_received(), IsEmpty());
}

TEST_F(Online, ApplySaysAtTheTimeoutWhoWhereInWhichStateAndSinceWhen) {
  server_.stream("POST /v1/apply", {kAccepted, R"({"finished":{"timedOut":true,"instances":[
      {"key":{"item":"app","subject":"vehicle"},"state":"ACTIVE","proven":true,"place":{"node":"n1"}},
      {"key":{"item":"app","subject":"vehicle","index":1},"state":"ACTIVE","place":{"node":"n2"},
       "sinceMs":"1700000000000"}]}})"});
  const Finished finished = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_THAT(finished.err, HasSubstr("app/vehicle/1  Active  on n2  since 2023-11-14 22:13:20, "
                                      "and has yet to show that it stays up\n"));
  EXPECT_THAT(finished.err, Not(HasSubstr("app/vehicle/0")));
}

TEST_F(Online, ApplySaysTwoAndListsWhatIsOnNodesThatAreAway) {
  server_.stream("POST /v1/apply", {kAccepted, R"({"finished":{"instances":[
      {"key":{"item":"app","subject":"vehicle"},"state":"ACTIVE","proven":true,"place":{"node":"n1"}},
      {"key":{"item":"app","subject":"vehicle","index":1},"state":"FAILED","place":{"node":"n2"},
       "problem":{"reason":"NodeLost"},"away":true}]}})"});
  const Finished finished = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("1 instance on nodes that are away, and not waited for:\n"
                                      "  app/vehicle/1  Failed(NodeLost)  on n2\n"));
}

TEST_F(Online, ApplyTellsWhatFollowsFromIt) {
  constexpr const char* kFollows = R"({"accepted":{"revision":"43",
      "instances":[{"item":"app","subject":"vehicle"}],"consequences":[
      {"key":{"item":"app","subject":"vehicle"},"action":"start","version":"1.0.0",
       "place":{"node":"n1"},"downtime":"none"},
      {"key":{"item":"low","subject":"vehicle"},"action":"move","version":"2","downtime":"stopsFirst",
       "place":{"node":"n2"},"from":{"node":"n1"}}]}})";
  for (int i = 0; i < 2; ++i) server_.stream("POST /v1/apply", {kFollows, R"({"finished":{}})"});
  EXPECT_EQ(berth({"apply", "-f", "-"}, kTwoInstances).out,
            "Accepted as revision 43.\n"
            "  start   app/vehicle/0  1.0.0 on n1\n"
            "  move    low/vehicle/0  2 on n2, from n1: stops first\n"
            "1 unknown\n");
  const json answer = json::parse(berth({"apply", "-f", "-", "-o", "json"}, kTwoInstances).out);
  EXPECT_EQ(answer["consequences"][1]["downtime"], "stopsFirst");
  EXPECT_EQ(answer["consequences"][1]["from"], "n1");
}

TEST_F(Online, ApplySaysTwoAndWhoIsMissingWhenANodeIsAway) {
  server_.stream("POST /v1/apply", {kAccepted, R"({"finished":{"incomplete":[{"item":"app",
      "subject":"vehicle","version":"2","updated":3,"total":6,"away":["r3"]}]}})"});
  const Finished finished = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err,
              HasSubstr("3 of 6 of app run version 2; 3 wait for node r3, which is away"));
}

TEST_F(Online, ApplySaysOneWhenItIsSuperseded) {
  server_.stream("POST /v1/apply", {kAccepted, R"({"finished":{"supersededBy":"44"}})"});
  const Finished finished = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("Superseded by revision 44"));
}

TEST_F(Online, ApplyDoesNotWaitIfItShallNot) {
  server_.answer("POST /v1/apply", kAccepted);
  const Finished finished =
      berth({"apply", "--no-wait", "-f", "-", "--if-revision", "42"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out, "Accepted as revision 43: 2 instances\n");
  const json request = json::parse(server_.received()[0].body);
  EXPECT_EQ(request["ifRevision"], "42");
  EXPECT_FALSE(request.contains("wait"));
}

TEST_F(Online, ApplyPassesTheServersErrorsOn) {
  server_.answer(
      "POST /v1/apply",
      Canned{.status = 400,
             .pieces = {R"({"error":{"code":"InvalidInput","message":"a.yaml:3:1: bad"}})"}});
  server_.answer(
      "POST /v1/apply",
      Canned{.status = 409, .pieces = {R"({"error":{"code":"Conflict","message":"plan again"}})"}});
  const Finished invalid = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(invalid.exit_code, 3);
  EXPECT_THAT(invalid.err, HasSubstr("a.yaml:3:1: bad"));
  EXPECT_EQ(berth({"apply", "-f", "-"}, kTwoInstances).exit_code, 1);
  EXPECT_EQ(berth({"apply"}).exit_code, 3);
  EXPECT_EQ(berth({"apply", "-f", "/nowhere.yaml"}).exit_code, 3);
}

TEST_F(Online, ApplySaysSixWhenTheControlPlaneGoesAwayOrIsNotThere) {
  server_.stream("POST /v1/apply", {kAccepted});
  const Finished gone = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(gone.exit_code, 6);
  EXPECT_THAT(gone.err, HasSubstr("goes on"));
  EXPECT_EQ(berth({"--socket", "/nowhere.sock", "apply", "-f", "-"}, kTwoInstances).exit_code, 6);
}

// --- rebalance

TEST_F(Online, RebalanceTellsWhatMovesAndHowItEnds) {
  server_.stream(
      "POST /v1/rebalance",
      {R"({"accepted":{"revision":"43","instances":[{"item":"app","subject":"vehicle"}],"relief":[
          {"node":"n1","cpuOverloaded":true,"capacity":{"cpu":"1000"},"before":{"cpu":"900"},
           "planned":{"cpu":"700"},"goal":{"cpu":"750"},
           "leaving":[{"item":"app","subject":"vehicle"}]}]}})",
       status(0, "ACTIVE"),
       R"({"finished":{"instances":[{"key":{"item":"app","subject":"vehicle"},
                                     "state":"ACTIVE"}]}})"});
  const Finished finished = berth({"rebalance", "--full"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "Accepted as revision 43.\n"
            "n1: cpu 90.0 % -> 70.0 %, min 75.0 %; 1 leaving\n"
            "app/vehicle/0  Active  on n1\n"
            "1 active\n");
  const json request = json::parse(server_.received()[0].body);
  EXPECT_EQ(request["full"], true);
  EXPECT_EQ(request["wait"], true);
}

TEST_F(Online, RebalanceSaysTwoIfANodeCannotBeRelieved) {
  server_.stream("POST /v1/rebalance", {R"({"accepted":{"revision":"43","relief":[
                     {"node":"n1","ramOverloaded":true,"capacity":{"ram":"1000"},
                      "before":{"ram":"900"},"planned":{"ram":"900"},"goal":{"ram":"750"},
                      "problem":{"reason":"NothingMayMove","message":"all is pinned"}}]}})",
                                        R"({"finished":{}})"});
  const Finished finished = berth({"rebalance"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(finished.out,
            "Accepted as revision 43.\n"
            "n1: ram 90.0 % -> 90.0 %, min 75.0 %; not relieved: all is pinned\n"
            "Nothing moves.\n");
  EXPECT_THAT(finished.err, HasSubstr("1 overloaded node cannot be relieved"));
}

}  // namespace
}  // namespace berth::tests
