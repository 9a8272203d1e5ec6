#include "controld/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <string>

#include "controld/testing/plane.h"

// The front with real connections: requests as they are on the wire.
namespace berth::controld {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\\n" : c == '"' ? "\\\"" : std::string(1, c);
  return out;
}

std::string files(const std::string& yaml, const std::string& more = "") {
  return R"({"files":[{"name":"f.yaml","text":")" + escaped(yaml) + R"("}])" + more + "}";
}

const std::string kItem =
    "apiVersion: berth/v1\nkind: Item\nmetadata: {name: web}\n"
    "spec: {version: 1, images: [{command: [x]}]}\n";
const std::string kDeployment =
    "---\napiVersion: berth/v1\nkind: Deployment\nmetadata: {name: base}\n"
    "spec: {run: [{item: web, instances: 2}]}\n";

TEST(HttpFront, AnswersProbes) {
  Plane plane;
  EXPECT_THAT(plane.get("/livez"), HasSubstr("200 OK"));
  EXPECT_THAT(plane.get("/readyz"), HasSubstr("ok"));
  EXPECT_THAT(plane.get("/readyz?verbose"), HasSubstr("[+] store: ok"));
  const std::string metrics = plane.get("/metrics");
  EXPECT_THAT(metrics, HasSubstr("berth_nodes{liveness=\"reachable\"} 0"));
  EXPECT_THAT(metrics, HasSubstr("berth_step_seconds_count 1"));
  EXPECT_THAT(metrics, HasSubstr("# TYPE berth_node_cpu_dmips gauge"));
  EXPECT_THAT(metrics, HasSubstr("# TYPE berth_instance_state_bytes gauge"));
  EXPECT_THAT(plane.get("/openapi.json"), HasSubstr("\"/v1/apply\""));
}

TEST(HttpFront, GivesVersionNodesAndDocuments) {
  Plane plane;
  plane.add_node("n1");
  EXPECT_THAT(plane.get("/v1/version"), HasSubstr(R"({"version":"test"})"));
  EXPECT_THAT(plane.get("/v1/nodes"), HasSubstr(R"("name":"n1")"));
  EXPECT_THAT(plane.get("/v1/nodes/n1"), HasSubstr(R"("liveness":"reachable")"));
  EXPECT_THAT(plane.get("/v1/nodes/n2"), HasSubstr("404"));
  EXPECT_THAT(plane.get("/v1/items"), HasSubstr(R"("documents":[])"));
  EXPECT_THAT(plane.get("/v1/items/none"), HasSubstr("there is no Item none"));
}

TEST(HttpFront, AppliesAndTellsWhatWasAccepted) {
  Plane plane;
  plane.add_node("n1");
  const std::string answer = plane.post("/v1/apply", files(kItem + kDeployment));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("application/json"));
  EXPECT_THAT(answer, HasSubstr(R"({"accepted":{"revision":")"));
  EXPECT_THAT(answer, HasSubstr(R"("instances":[{"item":"web","subject":"default","index":0})"));
  plane.wait_until([](const control::Controller& controller) {
    const auto statuses = controller.statuses();
    return statuses.size() == 2 && statuses.begin()->second.state == model::InstanceState::Active;
  });
  EXPECT_THAT(plane.get("/v1/instances?node=n1"), HasSubstr(R"("state":"ACTIVE")"));
  EXPECT_THAT(plane.get("/v1/instances?name=web/default/7"), HasSubstr("404"));
  EXPECT_THAT(plane.get("/v1/cluster"), HasSubstr(R"("kind":"Node")"));
  EXPECT_THAT(plane.get("/v1/events?about=instance/web"), HasSubstr(R"("kind":)"));
  EXPECT_THAT(plane.post("/v1/apply", files(kDeployment, R"(,"ifRevision":"999999")")),
              HasSubstr("409"));
}

TEST(HttpFront, ADeploymentMayUseAStoredItem) {
  Plane plane;
  EXPECT_THAT(plane.post("/v1/apply", files(kDeployment)), HasSubstr("there is no item"));
  EXPECT_THAT(plane.post("/v1/apply", files(kItem)), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(plane.post("/v1/apply", files(kDeployment)), StartsWith("HTTP/1.1 200"));
}

TEST(HttpFront, ErrorsInManifestsAreToldAllAtOnce) {
  Plane plane;
  const std::string answer = plane.post(
      "/v1/apply", files("apiVersion: berth/v1\nkind: Deployment\nmetadata: {}\nspce: 1\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr(R"({"error":{"code":"InvalidInput","message":"f.yaml:)"));
  EXPECT_THAT(answer, HasSubstr("metadata.name: is missing\\nf.yaml:4:1: error: "));
}

TEST(HttpFront, AppliesAndWaits) {
  Plane plane;
  plane.add_node("n1");
  const std::string answer = plane.post("/v1/apply", files(kItem + kDeployment, R"(,"wait":true)"));
  EXPECT_THAT(answer, HasSubstr("text/event-stream"));
  const auto accepted = answer.find("data: {\"accepted\"");
  const auto status = answer.find("data: {\"status\"");
  const auto finished = answer.find("data: {\"finished\":{\"timedOut\":false");
  ASSERT_NE(finished, std::string::npos) << answer;
  EXPECT_LT(accepted, status);
  EXPECT_LT(status, finished);
}

TEST(HttpFront, WatchesChanges) {
  Plane plane;
  plane.add_node("n1");
  const int socket = plane.connect();
  const auto has = [](const std::string& text) {
    return [text](const std::string& answer) { return answer.find(text) != std::string::npos; };
  };
  EXPECT_THAT(talk(socket, "GET /v1/watch?events=true HTTP/1.1\r\nHost: x\r\n\r\n",
                   has("data: {\"synced\":true}\n\n")),
              HasSubstr("data: {\"node\":{\"name\":\"n1\""));
  plane.post("/v1/apply", files(kItem + kDeployment));
  EXPECT_THAT(talk(socket, "", has("\"state\":\"ACTIVE\"")), HasSubstr("data: {\"instance\""));
  EXPECT_EQ(plane.hub().watchers(), 1u);
  ::close(socket);
  while (plane.hub().watchers() > 0) std::this_thread::yield();
}

TEST(HttpFront, PlansWithoutChangingAnything) {
  Plane plane;
  plane.add_node("n1");
  const std::string answer = plane.post("/v1/plan", files(kItem + kDeployment));
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("\"revision\": "));
  EXPECT_THAT(answer, HasSubstr("\"placements\""));
  EXPECT_THAT(answer, HasSubstr("\"start\""));
  EXPECT_THAT(plane.get("/v1/items"), HasSubstr(R"("documents":[])"));
  plane.post("/v1/apply", files(kItem + kDeployment));
  EXPECT_THAT(plane.get("/v1/why/web"), HasSubstr("n1"));
  EXPECT_THAT(plane.get("/v1/why/web"), HasSubstr("\"decision\""));
  EXPECT_THAT(plane.get("/v1/why/wed"), HasSubstr("Did you mean"));
}

TEST(HttpFront, CordonsDrainsAndDeletes) {
  Plane plane;
  plane.add_node("n1");
  EXPECT_THAT(plane.post("/v1/nodes/n1/cordon", ""), HasSubstr(R"({"revision":)"));
  EXPECT_THAT(plane.get("/v1/nodes/n1"), HasSubstr(R"("cordoned":true)"));
  EXPECT_THAT(plane.post("/v1/nodes/n1/uncordon", "{}"), HasSubstr("200 OK"));
  EXPECT_THAT(plane.post("/v1/nodes/n1/drain", R"({"message":"why","deadlineMs":"1000"})"),
              HasSubstr("200 OK"));
  EXPECT_THAT(plane.get("/v1/nodes/n1"), HasSubstr(R"("draining":true)"));
  EXPECT_THAT(plane.post("/v1/nodes/n9/cordon", ""), HasSubstr("404"));
  plane.post("/v1/apply", files(kItem));
  EXPECT_THAT(plane.exchange("DELETE /v1/items/web@1 HTTP/1.1\r\nHost: x\r\n"
                             "Connection: close\r\n\r\n"),
              HasSubstr("200 OK"));
  EXPECT_THAT(plane.get("/v1/items"), HasSubstr(R"("documents":[])"));
}

TEST(HttpFront, PausesAndResumes) {
  Plane plane;
  plane.add_node("n1");
  plane.post("/v1/apply", files(kItem + kDeployment, R"(,"wait":true)"));
  EXPECT_THAT(plane.post("/v1/instances/web/default/0/pause", ""), HasSubstr(R"({"revision":)"));
  EXPECT_THAT(plane.get("/v1/instances"), HasSubstr(R"("toBePaused":true)"));
  EXPECT_THAT(plane.post("/v1/instances/web/default/0/resume", "{}"), HasSubstr("200 OK"));
  EXPECT_THAT(plane.get("/v1/instances"), HasSubstr(R"("toBePaused":false)"));
  EXPECT_THAT(plane.post("/v1/instances/web/default/7/pause", ""), HasSubstr("404"));
  EXPECT_THAT(plane.post("/v1/instances/web/pause", ""), HasSubstr("names no subject"));
}

TEST(HttpFront, ARebalanceIsAnsweredLikeAnApply) {
  Plane plane;
  plane.add_node("n1");
  const std::string answer = plane.post("/v1/rebalance", R"({"wait":true})");
  EXPECT_THAT(answer, HasSubstr("accepted"));
  EXPECT_THAT(answer, HasSubstr("finished"));
}

TEST(HttpFront, ANodeTellsWhereItStandsWithItsThresholds) {
  Plane plane;
  plane.add_node("n1");
  EXPECT_THAT(plane.get("/v1/nodes/n1"), Not(HasSubstr("cpuLoad")));
  plane.post("/v1/apply", files("apiVersion: berth/v1\nkind: NodeConfig\nmetadata: {name: t}\n"
                                "spec: {thresholds: {cpu: {}}}\n"));
  EXPECT_THAT(plane.get("/v1/nodes/n1"), HasSubstr(R"("cpuLoad":{"state":"normal")"));
}

TEST(HttpFront, LogsNeedANodeThatIsConnected) {
  Plane plane;
  plane.post("/v1/apply", files(kItem + kDeployment));
  EXPECT_THAT(plane.get("/v1/instances/web/default/0/logs"), HasSubstr("has no place"));
  EXPECT_THAT(plane.get("/v1/instances/nope/logs"), HasSubstr("404"));
}

TEST(HttpFront, CarriesLogsFromTheAgent) {
  Plane plane;
  plane.add_node("n1");
  plane.post("/v1/apply", files(kItem + kDeployment));
  const int socket = plane.connect();
  talk(socket, "GET /v1/instances/web/logs?tail=5 HTTP/1.1\r\nHost: x\r\n\r\n",
       [&](const std::string&) { return plane.streams().open() == 1; });
  while (plane.sent_to_agents().empty()) std::this_thread::yield();
  const v1::OpenLogs opened = plane.sent_to_agents().at(0).open_logs();
  EXPECT_EQ(opened.tail(), 5u);
  v1::StreamData piece;
  piece.set_stream(opened.stream());
  piece.set_data("hello");
  plane.streams().received(99, piece);  // of another connection: not believed
  plane.streams().received(1, piece);
  piece.clear_data();
  piece.set_end(true);
  plane.streams().received(1, piece);
  const std::string answer = talk(socket, "", [](const std::string&) { return false; });
  EXPECT_THAT(answer, HasSubstr("data: {\"data\":\"aGVsbG8=\""));
  EXPECT_EQ(answer.find("aGVsbG8="), answer.rfind("aGVsbG8="));
  EXPECT_EQ(plane.streams().open(), 0u);
  ::close(socket);
}

TEST(HttpFront, ALogReaderWhoLeavesEndsTheStream) {
  Plane plane;
  plane.add_node("n1");
  plane.post("/v1/apply", files(kItem + kDeployment));
  const int socket = plane.connect();
  talk(socket, "GET /v1/instances/web/logs?follow=true HTTP/1.1\r\nHost: x\r\n\r\n",
       [&](const std::string& answer) { return answer.find("event-stream") != std::string::npos; });
  ::close(socket);
  const auto is_told = [&] { return plane.sent_to_agents().back().stream().end(); };
  while (!is_told()) std::this_thread::yield();  // after the stream is closed here
  EXPECT_EQ(plane.streams().open(), 0U);
}

TEST(HttpFront, RefusesWhatIsTooLarge) {
  Plane plane;
  const auto declare = [&](const std::string& path, const std::string& size) {
    return plane.exchange("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + size +
                          "\r\n\r\n");
  };
  EXPECT_THAT(declare("/v1/apply", "1073741824"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(declare("/v1/join-tokens", "2000000"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(plane.get("/v1/items?name=" + std::string(100'000, 'x')), HasSubstr("431"));
}

TEST(HttpFront, RefusesWhatItDoesNotUnderstand) {
  Plane plane;
  EXPECT_THAT(plane.get("/v1/nothing"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(plane.get("/v1/apply"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(plane.post("/v1/apply", "{"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(plane.post("/v1/apply", R"({"fils":[]})"), HasSubstr("fils"));
  EXPECT_THAT(plane.get("/v1/instances?stat=active"), HasSubstr("Did you mean \\\"state\\\"?"));
  EXPECT_THAT(plane.get("/v1/instances?state=well"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(plane.get("/v1/instances/web/default/0/exec"), StartsWith("HTTP/1.1 426"));
  plane.exchange("nonsense\r\n\r\n");
  EXPECT_THAT(plane.get("/livez"), HasSubstr("200 OK")) << "it is still there";
}

TEST(HttpFront, RequestsOfOtherSitesAreRefused) {
  Plane plane;
  EXPECT_THAT(plane.exchange("GET /v1/nodes HTTP/1.1\r\nHost: x\r\nOrigin: https://evil\r\n"
                             "Connection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
}

TEST(HttpFront, AConnectionServesSeveralRequests) {
  Plane plane;
  const std::string request = "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string last = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answer = plane.exchange(request + request + last);
  EXPECT_THAT(answer, HasSubstr("ok\n"));
  EXPECT_NE(answer.find("version"), answer.rfind("version"));
}

TEST(HttpFront, SlowClientsAreLetGo) {
  Plane plane({.http = {.request_time = 50ms, .idle_time = 50ms}});
  EXPECT_EQ(plane.exchange("GET /livez HTT"), "");
}

TEST(HttpFront, APlanThatAsksForTooMuchIsRefused) {
  Plane plane({.planner = {.instances_more = 10}});
  plane.add_node("n1");
  const auto planned = [&](const std::string& instances) {
    return plane.post("/v1/plan", files(kItem +
                                        "---\napiVersion: berth/v1\nkind: Deployment\n"
                                        "metadata: {name: base}\n"
                                        "spec: {run: [{item: web, instances: " +
                                        instances + "}]}\n"));
  };
  EXPECT_THAT(planned("1000000"), HasSubstr("a plan can have 10 more at most"));
  EXPECT_THAT(planned("10"), StartsWith("HTTP/1.1 200"));
  plane.post("/v1/apply", files(kItem + kDeployment));
  EXPECT_THAT(planned("12"), StartsWith("HTTP/1.1 200")) << "two are asked for already";
  EXPECT_THAT(planned("13"), StartsWith("HTTP/1.1 507"));
}

TEST(HttpFront, ALoopThatDoesNotTurnIsNotReady) {
  Plane plane;
  std::promise<void> loop_stands;
  ASSERT_TRUE(plane.loop().post(
      Loop::Query([stands = loop_stands.get_future().share()](const auto&) { stands.wait(); })));
  const std::string answer = plane.get("/readyz");
  loop_stands.set_value();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(answer, HasSubstr("[-] controller: does not answer"));
  EXPECT_THAT(plane.get("/readyz?verbose"),
              HasSubstr("[+] grpc: ok\n[+] https: ok\n[+] socket: ok"));
}

TEST(HttpFront, AFullStoreIsToldAtOnce) {
  Plane plane;
  plane.store().fail(true);
  plane.loop().call(
      [](control::CallId id) {
        model::NodeConfig config;
        config.name = "c";
        return control::ApplyCall{id, {config}, std::nullopt};
      },
      [](const Loop::Answer&) { return false; });
  while (!plane.loop().trouble()) std::this_thread::yield();
  EXPECT_THAT(plane.get("/readyz"), HasSubstr("no space left on device"));
  EXPECT_THAT(plane.get("/readyz"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(plane.post("/v1/apply", files(kItem)), HasSubstr("no space left on device"));
  EXPECT_THAT(plane.post("/v1/nodes/n1/cordon", ""), StartsWith("HTTP/1.1 507"));
  EXPECT_THAT(plane.get("/v1/nodes"), StartsWith("HTTP/1.1 200"));
  plane.store().fail(false);
  while (plane.loop().trouble()) std::this_thread::yield();
  EXPECT_THAT(plane.post("/v1/apply", files(kItem)), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace berth::controld
