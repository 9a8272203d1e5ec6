#include "online.h"

namespace berth::tests {
namespace {

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

TEST_F(Online, GetNamesApplicationsByTheirNamespace) {
  answer_everything();
  EXPECT_EQ(berth({"get", "applications"}).out,
            "NAMESPACE  NAME  ITEM  VERSION  MIN  MAX\n"
            "default    echo  web              0    1\n"
            "games      echo  web   1.0.0      2  100\n");
  EXPECT_EQ(berth({"get", "app", "-o", "name"}).out,
            "application/default/echo\napplication/games/echo\n");
  EXPECT_EQ(berth({"get", "app", "games/echo", "-o", "name"}).out, "application/games/echo\n");
  EXPECT_EQ(berth({"get", "app", "echo", "-o", "name"}).out, "application/default/echo\n");
  const Finished unknown = berth({"describe", "application", "games/ecco"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("Did you mean \"games/echo\"?"));
  EXPECT_THAT(berth({"describe", "application", "games/echo"}).out,
              HasSubstr("namespace: games\n"));
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

}  // namespace
}  // namespace berth::tests
