#include "online.h"

namespace berth::tests {
namespace {

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

TEST_F(Online, DeleteNamesWhatIsInANamespaceByBoth) {
  answer_everything();
  server_.answer("DELETE /v1/applications/games%2Fecho", R"({"revision":"43"})");
  server_.answer("DELETE /v1/namespaces/games", R"({"revision":"44"})");
  EXPECT_EQ(berth({"delete", "application", "games/echo"}).out,
            "application/games/echo deleted (revision 43)\n");
  EXPECT_EQ(berth({"delete", "namespace", "games", "--cascade"}).out,
            "namespace/games deleted (revision 44)\n");
  EXPECT_EQ(lines_received().back(), "DELETE /v1/namespaces/games?cascade=true");
  const std::string files =
      "apiVersion: berth/v1\nkind: Application\nmetadata: {name: echo, namespace: games}\n"
      "spec: {item: web}\n";
  EXPECT_EQ(berth({"delete", "-f", "-"}, files).out,
            "application/games/echo deleted (revision 43)\n");
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

}  // namespace
}  // namespace berth::tests
