#include "online.h"

namespace berth::tests {
namespace {

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

}  // namespace
}  // namespace berth::tests
