#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/testing/canned_server.h"
#include "process.h"

// The real program against a control plane that says what it was told to say.
namespace berth::tests {
namespace {

using client::testing::Canned;
using client::testing::CannedServer;
using client::testing::Received;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kBerth = BERTH_BIN_DIR "/berth";

constexpr const char* kInstances = R"({"revision":"42","instances":[
 {"key":{"item":"db","subject":"default","index":0},"version":"2.0","state":"FAILED",
  "problem":{"reason":"InsufficientCpu","message":"no node has 600 DMIPS"},"type":"service"},
 {"key":{"item":"web","subject":"vehicle"},"version":"1.0.0","state":"ACTIVE",
  "place":{"node":"n1","runtime":"process"},"proven":true,"sinceMs":"1700000000000","restarts":2,"exitCode":1,"type":"service",
  "usage":{"cpu":"120","ram":"67108864"},"priority":"5","uid":5000,"gid":5001,
  "address":"10.128.0.2","names":["0.vehicle.web","vehicle.web","web"]},
 {"key":{"item":"web","subject":"vehicle","index":1},"version":"1.0.0","state":"ACTIVE",
  "place":{"node":"n2","runtime":"process"},"unverified":true,"type":"service",
  "usage":{"cpu":"300","ram":"1024"}}]})";

constexpr const char* kNodes = R"({"revision":"42","nodes":[
 {"name":"n1","type":"main","state":"provisioned","liveness":"reachable","cordoned":true,
  "capacity":{"cpu":"1000","ram":"1073741824"},"reserved":{"cpu":"600","ram":"536870912"},
  "used":{"cpu":"900","ram":"107374182"},"measured":true,"labels":["zone=front"],"instances":1,
  "conditions":[{"type":"Ready","status":"True","reason":"PrimaryRuntimeReady",
                 "lastTransitionMs":"1000","lastHeartbeatMs":"61000"}],
  "runtimes":[{"name":"process","type":"process","kind":"container","ready":"Ready",
               "graced":"Ready","primary":true,"graceMs":"3000"},
              {"name":"runc","type":"runc","kind":"container","ready":"NotReady",
               "graced":"Ready","reason":"ComputeNotReady","message":"needs root",
               "notReadySinceMs":"60000","graceMs":"3000"}]},
 {"name":"n2","state":"provisioned","liveness":"unreachable","silentForMs":"12345",
  "capacity":{"cpu":"1000","ram":"1073741824"},"instances":1}]})";

constexpr const char* kItems = R"({"revision":"42","documents":[
 {"apiVersion":"berth/v1","kind":"Item","metadata":{"name":"web"},
  "spec":{"type":"service","version":"1.0.0","images":[{"command":["/bin/web"]}],
          "request":{"cpu":600,"ram":67108864}}},
 {"apiVersion":"berth/v1","kind":"Item","metadata":{"name":"web"},
  "spec":{"type":"service","version":"1.1.0","images":[{"command":["/bin/web"]}]}}]})";

constexpr const char* kDeployments = R"({"revision":"42","documents":[
 {"apiVersion":"berth/v1","kind":"Deployment","metadata":{"name":"base"},
  "spec":{"run":[{"item":"web","subject":"vehicle","instances":2}]}}]})";

constexpr const char* kEvents = R"({"events":[
 {"number":"7","timeMs":"1700000000123","kind":"Placed","about":"instance/web/vehicle/0",
  "text":"on n1"},
 {"number":"8","timeMs":"1700000001000","kind":"Placed","about":"instance/web2/vehicle/0",
  "text":"on n2"}]})";

constexpr const char* kCluster = R"({"revision":"42","documents":[
 {"apiVersion":"berth/v1","kind":"Node","metadata":{"name":"n1"},
  "spec":{"capacity":{"cpu":1000,"ram":1073741824},
          "runtimes":[{"name":"process","type":"process","platform":{"os":"linux","arch":"amd64"}}],
          "running":[{"item":"app","version":"1.0.0","subject":"vehicle","runtime":"process"}]}},
 {"apiVersion":"berth/v1","kind":"Item","metadata":{"name":"app"},
  "spec":{"type":"service","version":"1.0.0","images":[{"command":["/bin/app"]}],
          "request":{"cpu":600,"ram":67108864}}},
 {"apiVersion":"berth/v1","kind":"Deployment","metadata":{"name":"base"},
  "spec":{"run":[{"item":"app","subject":"vehicle"}]}}]})";

constexpr const char* kTwoInstances = R"(
apiVersion: berth/v1
kind: Deployment
metadata: {name: base}
spec: {run: [{item: app, subject: vehicle, instances: 2}]}
)";

class Online : public ::testing::Test {
 protected:
  Finished berth(std::vector<std::string> arguments, std::string input = "",
                 std::vector<std::string> environment = {}) {
    environment.push_back("BERTH_SOCKET=" + server_.socket());
    environment.emplace_back("TZ=UTC");
    return run(kBerth, {std::move(arguments), std::move(input), std::move(environment)});
  }

  void answer_everything() {
    server_.answer("GET /v1/instances", kInstances);
    server_.answer("GET /v1/nodes", kNodes);
    server_.answer("GET /v1/items", kItems);
    server_.answer("GET /v1/deployments", kDeployments);
    server_.answer("GET /v1/events", kEvents);
  }

  std::vector<std::string> lines_received() const {
    std::vector<std::string> lines;
    for (const Received& received : server_.received()) lines.push_back(received.line);
    return lines;
  }

  CannedServer server_;
};

// --- get

TEST_F(Online, GetShowsInstancesAsATable) {
  answer_everything();
  const Finished finished = berth({"get", "instances"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(
      finished.out,
      "INSTANCE       VERSION  STATE                    NODE  RESTARTS  MESSAGE\n"
      "db/default/0   2.0      Failed(InsufficientCpu)               0  no node has 600 DMIPS\n"
      "web/vehicle/0  1.0.0    Active                   n1           2\n"
      "web/vehicle/1  1.0.0    Active(Unverified)       n2           0\n");
}

TEST_F(Online, GetShowsTheAddressInWideTables) {
  answer_everything();
  EXPECT_THAT(berth({"get", "instances", "web", "-o", "wide"}).out,
              ContainsRegex("n1 +process +10.128.0.2 +service"));
}

TEST_F(Online, GetShowsNodesAsATable) {
  answer_everything();
  EXPECT_EQ(berth({"get", "nodes"}).out,
            "NODE  STATE               READY    RUNTIMES                INSTANCES         CPU  "
            "RESERVED    RAM  RESERVED  TYPE\n"
            "n1    Reachable,Cordoned  True     process,runc(NotReady)          1  1000 DMIPS  "
            "     60%  1 GiB       50%  main\n"
            "n2    Unreachable(12s)    Unknown                                  1  1000 DMIPS  "
            "      0%  1 GiB        0%\n");
}

TEST_F(Online, GetGivesFlatJson) {
  answer_everything();
  const Finished finished = berth({"get", "instances", "web", "--node", "n1", "-o", "json"});
  EXPECT_EQ(json::parse(finished.out), json::parse(R"({"instances":[
    {"item":"web","subject":"vehicle","index":0,"version":"1.0.0","type":"service",
     "state":"Active","reason":"","message":"","node":"n1","runtime":"process","movingTo":"","unverified":false,
     "proven":true,"away":false,"since":"2023-11-14T22:13:20.000Z","restarts":2,"exitCode":1,"priority":5,"uid":5000,"gid":5001,
     "address":"10.128.0.2","names":["0.vehicle.web","vehicle.web","web"],
     "usage":{"cpu":120,"ram":67108864},"storage":0,"stateSize":0,"stateGeneration":0,
     "traffic":{"received":0,"sent":0},"toBePaused":false}],"revision":42})"));
}

TEST_F(Online, GetFiltersByNameStateAndItem) {
  answer_everything();
  EXPECT_EQ(berth({"get", "i", "-o", "name"}).out,
            "instance/db/default/0\ninstance/web/vehicle/0\ninstance/web/vehicle/1\n");
  EXPECT_EQ(berth({"get", "inst", "web", "-o", "name"}).out,
            "instance/web/vehicle/0\ninstance/web/vehicle/1\n");
  EXPECT_EQ(berth({"get", "instance", "web/vehicle/1", "-o", "name"}).out,
            "instance/web/vehicle/1\n");
  EXPECT_EQ(berth({"get", "instances", "--state", "Failed", "-o", "name"}).out,
            "instance/db/default/0\n");
  EXPECT_EQ(berth({"get", "instances", "--item", "nothing"}).out, "There are no instances.\n");
}

TEST_F(Online, GetSaysFourForAnUnknownNameAndSuggestsOne) {
  answer_everything();
  const Finished instance = berth({"get", "instance", "wbe"});
  EXPECT_EQ(instance.exit_code, 4);
  EXPECT_THAT(instance.err, HasSubstr("Did you mean \"web\"?"));
  EXPECT_EQ(berth({"get", "node", "n3"}).exit_code, 4);
  EXPECT_EQ(berth({"get", "deployment", "bas"}).exit_code, 4);
  const Finished kind = berth({"get", "nodse"});
  EXPECT_EQ(kind.exit_code, 3);
  EXPECT_THAT(kind.err, HasSubstr("Did you mean \"nodes\"?"));
}

TEST_F(Online, GetGivesDocumentsThatCanBeAppliedAgain) {
  answer_everything();
  EXPECT_EQ(berth({"get", "items"}).out,
            "ITEM  VERSION  TYPE     IMAGES\n"
            "web   1.0.0    service       1\n"
            "web   1.1.0    service       1\n");
  EXPECT_EQ(berth({"get", "item", "web@1.0.0", "-o", "yaml"}).out,
            "---\n"
            "apiVersion: berth/v1\n"
            "kind: Item\n"
            "metadata:\n"
            "  name: web\n"
            "spec:\n"
            "  version: \"1.0.0\"\n"
            "  type: service\n"
            "  images:\n"
            "  - command:\n"
            "    - \"/bin/web\"\n"
            "  request:\n"
            "    cpu: 600\n"
            "    ram: 67108864\n");
  EXPECT_EQ(berth({"get", "deploy"}).out, "DEPLOYMENT  RUNS\nbase        web x2\n");
}

TEST_F(Online, GetEventsIsNotTakenForTheVerb) {
  answer_everything();
  EXPECT_THAT(berth({"get", "events"}).out,
              HasSubstr("2023-11-14 22:13:20  Placed  instance/web/vehicle/0"));
}

TEST_F(Online, GetWatchTellsEachChangeAsALine) {
  server_.stream("GET /v1/watch",
                 {R"({"instance":{"key":{"item":"web","subject":"s"},"state":"ACTIVATING",
                     "place":{"node":"n1"}}})",
                  R"({"node":{"name":"n1"}})", R"({"synced":true})",
                  R"({"instance":{"key":{"item":"web","subject":"s"},"state":"ACTIVE",
                     "place":{"node":"n1"}}})"});
  server_.answer("GET /v1/watch",
                 Canned{.status = 403, .pieces = {R"({"error":{"message":"x"}})"}});
  const Finished finished = berth({"get", "instances", "--watch"});
  EXPECT_EQ(finished.out, "web/s/0  Activating  on n1\nweb/s/0  Active  on n1\n");
}

// --- describe, top, events

TEST_F(Online, DescribeEndsWithTheEventsOfJustThisObject) {
  answer_everything();
  const Finished finished = berth({"describe", "instance", "web"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, ContainsRegex("State: +Active\n"));
  EXPECT_THAT(finished.out, ContainsRegex("Address: +10.128.0.2\n"));
  EXPECT_THAT(finished.out, ContainsRegex("Names: +0.vehicle.web, vehicle.web, web\n"));
  EXPECT_THAT(finished.out, ContainsRegex("Last exit code: +1\n"));
  EXPECT_THAT(finished.out, HasSubstr("Events\n"));
  EXPECT_TRUE(finished.out.ends_with("Placed  instance/web/vehicle/0  on n1\n")) << finished.out;
}

TEST_F(Online, DescribeTellsWhatANodeRunsAndWhichRuntimesAreNotReady) {
  answer_everything();
  const Finished finished = berth({"describe", "node", "n1"});
  EXPECT_THAT(finished.out,
              ContainsRegex("runc +runc +container +NotReady +Ready +ComputeNotReady: needs root, "
                            "since 1970-01-01"));
  EXPECT_THAT(finished.out, ContainsRegex("Ready +True +1970-01-01 .* +PrimaryRuntimeReady"));
  EXPECT_THAT(finished.out, ContainsRegex("web/vehicle/0 +1.0.0 +Active"));
  EXPECT_THAT(finished.out, Not(HasSubstr("web/vehicle/1")));
}

TEST_F(Online, GetTellsProgramsOfConditionsAndBothReadinesses) {
  answer_everything();
  const json node = json::parse(berth({"get", "nodes", "-o", "json"}).out)["nodes"][0];
  EXPECT_EQ(node["ready"], "True");
  EXPECT_EQ(node["conditions"], json::parse(R"([{"type":"Ready","status":"True",
    "reason":"PrimaryRuntimeReady","message":"","lastTransition":"1970-01-01T00:00:01.000Z",
    "lastHeartbeat":"1970-01-01T00:01:01.000Z"}])"));
  EXPECT_EQ(node["runtimes"][1], json::parse(R"({"name":"runc","type":"runc","kind":"container",
    "ready":"NotReady","graced":"Ready","primary":false,"reason":"ComputeNotReady",
    "message":"needs root","notReadySince":"1970-01-01T00:01:00.000Z","graceMs":3000,
    "evicting":false})"));
  EXPECT_EQ(node["runtimes"][0]["notReadySince"], nullptr);
}

TEST_F(Online, DescribeShowsTheInstancesOfADeployment) {
  answer_everything();
  const Finished finished = berth({"describe", "deployment", "base"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("kind: Deployment"));
  EXPECT_THAT(finished.out, HasSubstr("web/vehicle/1"));
  EXPECT_THAT(finished.out, Not(HasSubstr("db/default/0")));
}

TEST_F(Online, TopShowsTheHungriestFirst) {
  answer_everything();
  EXPECT_EQ(berth({"top", "instances", "-o", "name"}).out,
            "instance/web/vehicle/1\ninstance/web/vehicle/0\ninstance/db/default/0\n");
  EXPECT_THAT(berth({"top"}).out, ContainsRegex("n1 .*#########\\. +90% +60%"));
  EXPECT_EQ(berth({"top", "items"}).exit_code, 3);
}

TEST_F(Online, EventsHaveNumbersAndTimes) {
  answer_everything();
  const json events = json::parse(berth({"events", "-o", "json"}).out)["events"];
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["time"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(events[0]["number"], 7);
  EXPECT_EQ(json::parse(berth({"events", "instance/web", "-o", "json"}).out)["events"].size(), 1u);
}

// --- apply

constexpr const char* kAccepted = R"({"accepted":{"revision":"43","instances":[
  {"item":"app","subject":"vehicle"},{"item":"app","subject":"vehicle","index":1}]}})";

std::string status(int index, const std::string& state) {
  return R"({"status":{"key":{"item":"app","subject":"vehicle","index":)" + std::to_string(index) +
         R"(},"version":"1.0.0","place":{"node":"n1"},"state":")" + state + "\"}}";
}

std::string finished_with(const std::string& state, bool timed_out = false) {
  return R"({"finished":{"timedOut":)" + std::string(timed_out ? "true" : "false") +
         R"(,"instances":[{"key":{"item":"app","subject":"vehicle"},"state":"ACTIVE"},
         {"key":{"item":"app","subject":"vehicle","index":1},"state":")" +
         state + R"(","problem":{"reason":"ExitedEarly","message":"exit code 3"}}]}})";
}

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
              R"({"error":{"code":"Exhausted","message":"not durable yet: the disk is full"}})"}});
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

// --- plan and why

TEST_F(Online, PlanLaysFilesOverTheCluster) {
  server_.answer("GET /v1/cluster", kCluster);
  EXPECT_EQ(berth({"plan"}).exit_code, 0);
  const Finished finished = berth({"plan", "-f", "-", "-o", "json"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  const json plan = json::parse(finished.out);
  EXPECT_EQ(plan["revision"], 42);
  EXPECT_EQ(plan["placements"][0]["action"], "keep");
  EXPECT_EQ(plan["refused"][0]["reason"], "InsufficientCpu");
}

TEST_F(Online, PlanTellsTheRevisionItIsFor) {
  server_.answer("GET /v1/cluster", kCluster);
  const std::string none =
      "apiVersion: berth/v1\nkind: Deployment\nmetadata: {name: base}\nspec: {run: []}\n";
  const Finished finished = berth({"plan", "-f", "-"}, none);
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("--if-revision 42"));
}

TEST_F(Online, PlanTellsWhatAnEditRestarts) {
  server_.answer("GET /v1/cluster", kCluster);
  const std::string edited =
      "apiVersion: berth/v1\nkind: Item\nmetadata: {name: app}\n"
      "spec: {type: service, version: 1.0.0, images: [{command: [/bin/app, -v]}],\n"
      "       request: {cpu: 600, ram: 67108864}}\n";
  const Finished finished = berth({"plan", "-f", "-"}, edited);
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("1 restart"));
}

// Version 2.0.0 of "app" is asked for, and was taken back.
std::string a_cluster_with_a_failed_version() {
  std::string cluster = kCluster;
  cluster.insert(cluster.find(R"({"apiVersion":"berth/v1","kind":"Deployment")"),
                 R"({"apiVersion":"berth/v1","kind":"Item","metadata":{"name":"app"},
                     "spec":{"type":"service","version":"2.0.0","request":{"cpu":600},
                             "images":[{"command":["/bin/app"]}]}},)");
  const std::string asks = R"("item":"app","subject":"vehicle"}]}}]})";
  cluster.replace(cluster.find(asks), asks.size(),
                  R"("item":"app","version":"2.0.0","subject":"vehicle"}]}}],
                     "moment":{"held":[{"item":"app","subject":"vehicle","failed":"2.0.0",
                                        "version":"1.0.0"}]}})");
  return cluster;
}

TEST_F(Online, PlanDoesNotTryAVersionThatFailedUnlessTheFilesAskAgain) {
  server_.answer("GET /v1/cluster", a_cluster_with_a_failed_version());
  EXPECT_THAT(berth({"plan"}).out, HasSubstr("No change: 1 keep"));
  const std::string again =
      "apiVersion: berth/v1\nkind: Deployment\nmetadata: {name: base}\n"
      "spec: {run: [{item: app, version: 2.0.0, subject: vehicle}]}\n";
  EXPECT_THAT(berth({"plan", "-f", "-"}, again).out, HasSubstr("1 update"));
}

TEST_F(Online, PlanDoesNotTakeAnotherVersionOfTheItemForAskingAgain) {
  server_.answer("GET /v1/cluster", a_cluster_with_a_failed_version());
  const auto item = [](const std::string& version, const std::string& command) {
    return "apiVersion: berth/v1\nkind: Item\nmetadata: {name: app}\nspec: {type: service, "
           "version: " +
           version + ", request: {cpu: 600}, images: [{command: [" + command + "]}]}\n";
  };
  EXPECT_THAT(berth({"plan", "-f", "-"}, item("3.0.0", "/bin/app")).out,
              HasSubstr("No change: 1 keep"));
  EXPECT_THAT(berth({"plan", "-f", "-"}, item("2.0.0", "/bin/app")).out,
              HasSubstr("No change: 1 keep"));
  EXPECT_THAT(berth({"plan", "-f", "-"}, item("2.0.0", "/bin/other")).out, HasSubstr("1 update"));
}

TEST_F(Online, WhyDoesNotSayThatOneCouldStayWhereItWentBackTo) {
  server_.answer("GET /v1/why/app", R"({"item":"app","subject":"vehicle","index":0,"decision":{
                     "revision":7,"kind":"Updated","because":"it did not come up",
                     "summary":"Updated 2.0.0 to 1.0.0 on n1/process, because it did not come up",
                     "placement":{"node":"n1","runtime":"process"},"nodes":[],"stands":true},
                     "now":{"summary":"kept on n1/process: it runs there well","nodes":[]}})");
  EXPECT_THAT(berth({"why", "app"}).out, testing::Not(HasSubstr("It could stay where it was")));
}

TEST_F(Online, PlanReportsErrorsAtTheirPlaceInTheFile) {
  server_.answer("GET /v1/cluster", kCluster);
  const Finished finished = berth(
      {"plan", "-f", "-"},
      "apiVersion: berth/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {run: [{item: aqp}]}\n");
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, ContainsRegex("<stdin>:4:[0-9]+: error: spec.run\\[0\\].item"));
}

// What was decided by revision 7, when n2 was too full; `stands` and `now` follow.
constexpr const char* kDecided = R"({"item":"app","subject":"vehicle","index":0,"decision":{
  "revision":7,"kind":"Placed","summary":"Placed 1.0.0 on n1/process",
  "placement":{"node":"n1","runtime":"process"},"leftOut":2,
  "nodes":[{"node":"n1","detail":"best fit, on process: 1000 DMIPS left"},
           {"node":"n2","reason":"InsufficientCpu","asked":600,"has":412,"detail":"short"}],)";

TEST_F(Online, WhyTellsWhatWasDecidedWithTheFiguresOfThen) {
  server_.answer("GET /v1/why/app", std::string(kDecided) + R"("stands":true},
                     "now":{"summary":"kept on n1/process: it runs there well","nodes":[]}})");
  const Finished finished = berth({"why", "app"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("app/vehicle/0: decided by revision 7: Placed 1.0.0 on "
                                      "n1/process\n"));
  EXPECT_THAT(finished.out, ContainsRegex("n1 +chosen +best fit, on process: 1000 DMIPS left"));
  EXPECT_THAT(finished.out, ContainsRegex("n2 +InsufficientCpu +asked 600 DMIPS, has 412 DMIPS"));
  EXPECT_THAT(finished.out, HasSubstr("... and 2 nodes that came less near\n"));
  EXPECT_THAT(finished.out, Not(HasSubstr("kept on"))) << "the same would be decided now";
  const Finished programs = berth({"why", "app", "-o", "json"});
  const json answer = json::parse(programs.out);
  EXPECT_EQ(answer["decision"]["nodes"][1]["has"], 412);
  EXPECT_EQ(answer["now"]["summary"], "kept on n1/process: it runs there well");
  EXPECT_EQ(berth({"why", "app", "-o", "name"}).out, "instance/app/vehicle/0\n");
  EXPECT_EQ(berth({"why", "nothing"}).exit_code, 4);
}

TEST_F(Online, WhySaysThatTheNodeIsAwayThatItIsMeantFor) {
  server_.answer("GET /v1/why/app", R"({"item":"app","subject":"vehicle","index":0,
      "now":{"summary":"Refused 1: NoMatchingNodeId","hint":"allow node n2","nodes":[
        {"node":"n1","reason":"NoConnectedNodes","detail":"is not connected"},
        {"node":"n2","reason":"NoMatchingNodeId"}]}})");
  const Finished finished = berth({"why", "app"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out,
              HasSubstr("hint: n1 is away, and asked again when it is back; or allow node n2\n"));
}

TEST_F(Online, WhyTellsWhatWouldBeDecidedNowIfThatIsSomethingElse) {
  server_.answer("GET /v1/why/app%2Fvehicle%2F0", std::string(kDecided) + R"("stands":false},
                     "now":{"summary":"placed in the room that was left",
                            "placement":{"node":"n2","runtime":"process"},
                            "nodes":[{"node":"n1","reason":"NoUsableNodes","detail":"is cordoned"},
                                     {"node":"n2","detail":"best fit"}]}})");
  const Finished finished = berth({"why", "app/vehicle/0"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("decided by revision 7"));
  EXPECT_THAT(finished.out,
              HasSubstr("Now it would be decided otherwise: placed in the room that was left\n"));
  EXPECT_THAT(finished.out, ContainsRegex("n2 +chosen +best fit"));
}

TEST_F(Online, WhyOfAnUpdateInPlaceSaysThatNobodyElseWasAsked) {
  server_.answer("GET /v1/why/app", R"({"item":"app","subject":"vehicle","index":0,"decision":{
      "revision":9,"kind":"Updated","summary":"Updated 1 to 2 on n1/process",
      "placement":{"node":"n1","runtime":"process"},"nodes":[],"leftOut":0,"stands":true},
      "now":{"summary":"kept","nodes":[]}})");
  EXPECT_EQ(berth({"why", "app"}).out,
            "app/vehicle/0: decided by revision 9: Updated 1 to 2 on n1/process\n"
            "  It could stay where it was, so no other node was asked.\n");
}

TEST_F(Online, WhyWithFilesExplainsFromTheCluster) {
  server_.answer("GET /v1/cluster", kCluster);
  const Finished finished = berth({"why", "app/vehicle/1", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, ContainsRegex("n1 +InsufficientCpu"));
  EXPECT_EQ(berth({"why", "nothing", "-f", "-"}, kTwoInstances).exit_code, 4);
}

// --- what changes the cluster

TEST_F(Online, DeletePrintsWhatItDeleted) {
  answer_everything();
  server_.answer("DELETE /v1/deployments/base", R"({"revision":"43","consequences":[
      {"key":{"item":"web","subject":"s"},"action":"stop","version":"1","place":{"node":"n1"},
       "downtime":"stops"}]})");
  server_.answer("DELETE /v1/items/web@1.0.0", R"({"revision":"44"})");
  EXPECT_EQ(berth({"delete", "deployment", "base"}).out,
            "deployment/base deleted (revision 43)\n  stop    web/s/0  1 on n1\n");
  EXPECT_EQ(berth({"delete", "item", "web@1.0.0"}).out, "item/web@1.0.0 deleted (revision 44)\n");
  const Finished several = berth({"delete", "item", "web"});
  EXPECT_EQ(several.exit_code, 3);
  EXPECT_THAT(several.err, HasSubstr("web@1.0.0, web@1.1.0"));
  EXPECT_EQ(berth({"delete", "deployment", "nothing"}).exit_code, 4);
  EXPECT_EQ(berth({"delete", "node", "n1"}).exit_code, 3);
  EXPECT_EQ(berth({"delete"}).exit_code, 3);
}

TEST_F(Online, DeleteShowsBeforeWhatItWouldStop) {
  server_.answer("GET /v1/cluster", kCluster);
  const Finished finished = berth({"delete", "deployment", "base", "--dry-run"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("deployment/base would be deleted\n"));
  EXPECT_THAT(finished.out, ContainsRegex("Stops\n.*\n +app/vehicle/0 +1.0.0 +n1/process\n"));
  EXPECT_THAT(finished.out, Not(HasSubstr("keep")));
  const Finished needed = berth({"delete", "item", "app@1.0.0", "--dry-run"});
  EXPECT_EQ(needed.exit_code, 3);
  EXPECT_THAT(needed.err, HasSubstr("cannot be deleted now"));
  EXPECT_EQ(berth({"delete", "deployment", "nothing", "--dry-run"}).exit_code, 4);
  for (const std::string& line : lines_received()) EXPECT_EQ(line, "GET /v1/cluster");
}

TEST_F(Online, DeleteTakesTheDocumentsOfAFileUsersFirst) {
  server_.answer("DELETE /v1/deployments/base", R"({"revision":"43"})");
  server_.answer("DELETE /v1/items/app@1.0.0", R"({"revision":"44"})");
  const std::string item =
      "apiVersion: berth/v1\nkind: Item\nmetadata: {name: app}\nspec: {version: 1.0.0}\n---\n";
  const Finished finished = berth({"delete", "-f", "-"}, item + kTwoInstances);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "deployment/base deleted (revision 43)\nitem/app@1.0.0 deleted (revision 44)\n");
}

TEST_F(Online, DeleteGoesOnWhereSomethingIsNotThere) {
  server_.answer("DELETE /v1/items/app@1.0.0", R"({"revision":"44"})");
  const std::string item =
      "apiVersion: berth/v1\nkind: Item\nmetadata: {name: app}\nspec: {version: 1.0.0}\n---\n";
  const Finished finished = berth({"delete", "-f", "-"}, item + kTwoInstances);
  EXPECT_EQ(finished.exit_code, 4);
  EXPECT_EQ(finished.out, "item/app@1.0.0 deleted (revision 44)\n");
}

TEST_F(Online, DeleteWaitsUntilWhatItStoppedHasStopped) {
  server_.answer("DELETE /v1/deployments/base", R"({"revision":"43"})");
  server_.answer(
      "DELETE /v1/items/app@1.0.0",
      Canned{.status = 409, .pieces = {R"({"error":{"code":"Conflict","message":"is running"}})"}});
  server_.answer("DELETE /v1/items/app@1.0.0", R"({"revision":"44"})");
  const std::string item =
      "apiVersion: berth/v1\nkind: Item\nmetadata: {name: app}\nspec: {version: 1.0.0}\n---\n";
  EXPECT_EQ(berth({"delete", "-f", "-"}, item + kTwoInstances).exit_code, 0);
  EXPECT_EQ(server_.received().size(), 3u);
}

TEST_F(Online, ApplyLeavesTheTroublesOfOthersToThem) {
  server_.stream("POST /v1/apply",
                 {R"({"accepted":{"revision":"43","instances":[{"item":"app","subject":"vehicle"}],
                     "refused":[{"key":{"item":"other","subject":"vehicle"},
                                 "problem":{"reason":"InsufficientCpu"}}]}})",
                  R"({"finished":{"instances":[{"key":{"item":"app","subject":"vehicle"},
                     "state":"ACTIVE"}]}})"});
  const Finished finished = berth({"apply", "-f", "-"}, kTwoInstances);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, "Accepted as revision 43.\n1 active\n");
  EXPECT_THAT(finished.err, HasSubstr("1 instance of other deployments cannot be placed"));
}

TEST_F(Online, CordonUncordonAndForgetNameTheNode) {
  answer_everything();
  server_.answer("POST /v1/nodes/n1/cordon", R"({"revision":"43"})");
  server_.answer("POST /v1/nodes/n1/uncordon", R"({"revision":"44"})");
  server_.answer("DELETE /v1/nodes/n1", R"({"revision":"45"})");
  EXPECT_EQ(berth({"cordon", "n1"}).out, "node/n1 cordoned (revision 43)\n");
  EXPECT_EQ(berth({"uncordon", "n1"}).out, "node/n1 uncordoned (revision 44)\n");
  EXPECT_EQ(berth({"forget", "n1"}).out, "node/n1 forgotten (revision 45)\n");
  const Finished unknown = berth({"cordon", "n11"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("there is no node n11. Did you mean \"n1\"?"));
}

// "web/vehicle/0" of answer_everything, in this state.
std::string web_is(const std::string& state, const std::string& more = "") {
  return R"({"instance":{"key":{"item":"web","subject":"vehicle"},"place":{"node":"n1"},"state":")" +
         state + "\"" + more + "}}";
}

TEST_F(Online, PauseAndResumeWaitUntilItIsSo) {
  answer_everything();
  server_.answer("POST /v1/instances/web%2Fvehicle%2F0/pause", R"({"revision":"43"})");
  server_.answer("POST /v1/instances/web%2Fvehicle%2F0/resume", R"({"revision":"44"})");
  server_.stream("GET /v1/watch", {web_is("ACTIVE"), R"({"synced":true})", web_is("PAUSED")}, true);
  const Finished paused = berth({"pause", "web/vehicle/0"});
  EXPECT_EQ(paused.exit_code, 0) << paused.err;
  EXPECT_EQ(paused.out,
            "instance/web/vehicle/0 to be paused (revision 43)\n"
            "instance/web/vehicle/0 is paused\n");
  server_.stream("GET /v1/watch", {web_is("PAUSED"), R"({"synced":true})", web_is("ACTIVE")}, true);
  const Finished resumed = berth({"resume", "web/vehicle/0"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out,
            "instance/web/vehicle/0 to be resumed (revision 44)\n"
            "instance/web/vehicle/0 is resumed\n");
}

TEST_F(Online, ARuntimeThatIsNotReadyDoesNotKeepItFromBeingPaused) {
  answer_everything();
  server_.answer("POST /v1/instances/web%2Fvehicle%2F0/pause", R"({"revision":"43"})");
  const std::string unverified = R"(,"unverified":true)";
  server_.stream("GET /v1/watch",
                 {R"({"node":{"name":"n1","liveness":"reachable"}})", web_is("ACTIVE", unverified),
                  R"({"synced":true})", web_is("PAUSED", unverified)},
                 true);
  const Finished paused = berth({"pause", "web/vehicle/0"});
  EXPECT_EQ(paused.exit_code, 0) << paused.err;
}

TEST_F(Online, PauseMeansAllOfAnItem) {
  answer_everything();
  server_.answer("POST /v1/instances/web%2Fvehicle%2F0/pause", R"({"revision":"43"})");
  server_.answer("POST /v1/instances/web%2Fvehicle%2F1/pause", R"({"revision":"44"})");
  EXPECT_EQ(berth({"pause", "web", "--no-wait"}).out,
            "instance/web/vehicle/0 to be paused (revision 43)\n"
            "instance/web/vehicle/1 to be paused (revision 44)\n");
}

TEST_F(Online, PauseSaysWhyItIsNotSo) {
  answer_everything();
  server_.answer("POST /v1/instances/web%2Fvehicle%2F0/pause", R"({"revision":"43"})");
  server_.stream(
      "GET /v1/watch",
      {web_is("ACTIVE"), R"({"synced":true})",
       web_is("ACTIVE", R"(,"problem":{"reason":"PauseFailed","message":"frozen solid"})")},
      true);
  const Finished failed = berth({"pause", "web/vehicle/0"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.err, "instance/web/vehicle/0 is not paused: frozen solid; it is tried again\n");
}

TEST_F(Online, PauseWaitsNoLongerThanItIsTold) {
  answer_everything();
  server_.answer("POST /v1/instances/web%2Fvehicle%2F0/pause", R"({"revision":"43"})");
  server_.stream("GET /v1/watch", {web_is("ACTIVE"), R"({"synced":true})"}, true);
  const Finished late = berth({"pause", "web/vehicle/0", "--timeout", "300ms"});
  EXPECT_EQ(late.exit_code, 5) << late.err;
  EXPECT_EQ(berth({"pause", "web/vehicle/0", "--no-wait"}).exit_code, 0);
  const Finished unknown = berth({"pause", "wep"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("Did you mean"));
}

TEST_F(Online, DrainWaitsUntilTheNodeIsEmpty) {
  server_.answer("POST /v1/nodes/n1/drain", R"({"revision":"43"})");
  const std::string instance =
      R"({"instance":{"key":{"item":"web","subject":"s"},"state":"ACTIVE","proven":true,"place":{"node":")";
  server_.stream("GET /v1/watch",
                 {R"({"node":{"name":"n1","instances":1,"services":1}})", instance + "n1\"}}}",
                  R"({"synced":true})", instance + "n2\"}}}", R"({"node":{"name":"n1"}})"},
                 true);
  const Finished finished = berth({"drain", "n1", "--deadline", "10m", "-m", "new disk"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(
      finished.out,
      "node/n1 draining (revision 43)\n1 instance left\n0 instances left\nnode/n1 is empty\n");
  const json request = json::parse(server_.received()[0].body);
  EXPECT_EQ(request["deadlineMs"], "600000");
  EXPECT_EQ(request["message"], "new disk");
}

TEST_F(Online, DrainSaysOneIfSomethingWasStoppedAndIsNotActiveElsewhere) {
  server_.answer("POST /v1/nodes/n1/drain", R"({"revision":"43"})");
  server_.stream("GET /v1/watch",
                 {R"({"node":{"name":"n1","instances":1,"services":1}})",
                  R"({"instance":{"key":{"item":"web","subject":"s"},"state":"ACTIVE",
                      "place":{"node":"n1"},"movingTo":{"node":"n2"}}})",
                  R"({"synced":true})",
                  R"({"instance":{"key":{"item":"web","subject":"s"},"state":"FAILED",
                      "problem":{"reason":"FailedThere"}}})",
                  R"({"node":{"name":"n1"}})"},
                 true);
  const Finished finished = berth({"drain", "n1", "--deadline", "1s"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.out, HasSubstr("node/n1 is empty\n"));
  EXPECT_THAT(finished.err, HasSubstr("1 instance is not active elsewhere:\n  web/s/0"));
}

TEST_F(Online, DrainSaysFiveWhenItTakesTooLong) {
  server_.answer("POST /v1/nodes/n1/drain", R"({"revision":"43"})");
  server_.stream("GET /v1/watch",
                 {R"({"node":{"name":"n1","instances":1,"services":1}})", R"({"synced":true})"},
                 true);
  const Finished finished = berth({"drain", "n1", "--timeout", "300ms"});
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_THAT(finished.err, HasSubstr("the drain goes on"));
  EXPECT_EQ(berth({"drain", "n1", "--no-wait"}).exit_code, 0);
}

TEST_F(Online, DrainDoesNotTakeANodeThatIsAwayForEmpty) {
  server_.answer("POST /v1/nodes/n1/drain", R"({"revision":"43"})");
  const std::string node = R"({"node":{"name":"n1","liveness":"unreachable","silentForMs":"12000")";
  const std::string pinned =
      R"({"instance":{"key":{"item":"web","subject":"s"},"state":"ACTIVE","unverified":true,
          "away":true,"place":{"node":"n1"}}})";
  server_.stream("GET /v1/watch", {node + R"(,"services":3}})", pinned, R"({"synced":true})"},
                 true);
  const Finished finished = berth({"drain", "n1"});
  EXPECT_EQ(finished.exit_code, 2) << finished.out;
  EXPECT_EQ(finished.out, "node/n1 draining (revision 43)\n");
  EXPECT_THAT(finished.err, HasSubstr("node/n1 is away, not heard of for 12s"));
  EXPECT_THAT(finished.err, HasSubstr("Last known to run there: 3 instances"));
  EXPECT_THAT(finished.err, HasSubstr("  web/s/0  Active(Unverified)  on n1"));
}

TEST_F(Online, DrainDoesNotTakeANodeThatIsLostForEmpty) {
  server_.answer("POST /v1/nodes/n1/drain", R"({"revision":"43"})");
  server_.stream(
      "GET /v1/watch",
      {R"({"node":{"name":"n1","liveness":"lost","silentForMs":"999000"}})", R"({"synced":true})"},
      true);
  const Finished finished = berth({"drain", "n1"});
  EXPECT_EQ(finished.exit_code, 2) << finished.out;
  EXPECT_THAT(finished.err, HasSubstr("not\nconfirmed. Last known to run there: 0 instances."));
}

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
  for (const char* verb : {"apply", "plan", "why", "get", "describe", "delete", "logs", "exec",
                           "top", "events", "wait", "pause", "resume", "drain", "cordon",
                           "uncordon", "forget", "join-token", "login"}) {
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
