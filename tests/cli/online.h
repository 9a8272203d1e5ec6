#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/testing/canned_server.h"
#include "process.h"

// The real program against a control plane that says what it was told to say.
namespace berth::tests {

using client::testing::Canned;
using client::testing::CannedServer;
using client::testing::Received;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

inline const std::string kBerth = BERTH_BIN_DIR "/berth";

inline constexpr const char* kInstances = R"({"revision":"42","instances":[
 {"key":{"item":"db","subject":"default","index":0},"version":"2.0","state":"FAILED",
  "problem":{"reason":"InsufficientCpu","message":"no node has 600 DMIPS"},"type":"service"},
 {"key":{"item":"web","subject":"vehicle"},"version":"1.0.0","state":"ACTIVE",
  "place":{"node":"n1","runtime":"process"},"proven":true,"sinceMs":"1700000000000","restarts":2,"exitCode":1,"type":"service",
  "usage":{"cpu":"120","ram":"67108864"},"priority":"5","uid":5000,"gid":5001,
  "address":"10.128.0.2","names":["0.vehicle.web","vehicle.web","web"]},
 {"key":{"item":"web","subject":"vehicle","index":1},"version":"1.0.0","state":"ACTIVE",
  "place":{"node":"n2","runtime":"process"},"unverified":true,"type":"service",
  "usage":{"cpu":"300","ram":"1024"}}]})";

inline constexpr const char* kNodes = R"({"revision":"42","nodes":[
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

inline constexpr const char* kItems = R"({"revision":"42","documents":[
 {"apiVersion":"berth/v1","kind":"Item","metadata":{"name":"web"},
  "spec":{"type":"service","version":"1.0.0","images":[{"command":["/bin/web"]}],
          "request":{"cpu":600,"ram":67108864}}},
 {"apiVersion":"berth/v1","kind":"Item","metadata":{"name":"web"},
  "spec":{"type":"service","version":"1.1.0","images":[{"command":["/bin/web"]}]}}]})";

inline constexpr const char* kDeployments = R"({"revision":"42","documents":[
 {"apiVersion":"berth/v1","kind":"Deployment","metadata":{"name":"base"},
  "spec":{"run":[{"item":"web","subject":"vehicle","instances":2}]}}]})";

inline constexpr const char* kApplications = R"({"revision":"42","documents":[
 {"apiVersion":"berth/v1","kind":"Application","metadata":{"name":"echo"},"spec":{"item":"web"}},
 {"apiVersion":"berth/v1","kind":"Application","metadata":{"name":"echo","namespace":"games"},
  "spec":{"item":"web","version":"1.0.0","scaling":{"minimum":2,"maximum":100}}}]})";

inline constexpr const char* kEvents = R"({"events":[
 {"number":"7","timeMs":"1700000000123","kind":"Placed","about":"instance/web/vehicle/0",
  "text":"on n1"},
 {"number":"8","timeMs":"1700000001000","kind":"Placed","about":"instance/web2/vehicle/0",
  "text":"on n2"}]})";

inline constexpr const char* kCluster = R"({"revision":"42","documents":[
 {"apiVersion":"berth/v1","kind":"Node","metadata":{"name":"n1"},
  "spec":{"capacity":{"cpu":1000,"ram":1073741824},
          "runtimes":[{"name":"process","type":"process","platform":{"os":"linux","arch":"amd64"}}],
          "running":[{"item":"app","version":"1.0.0","subject":"vehicle","runtime":"process"}]}},
 {"apiVersion":"berth/v1","kind":"Item","metadata":{"name":"app"},
  "spec":{"type":"service","version":"1.0.0","images":[{"command":["/bin/app"]}],
          "request":{"cpu":600,"ram":67108864}}},
 {"apiVersion":"berth/v1","kind":"Deployment","metadata":{"name":"base"},
  "spec":{"run":[{"item":"app","subject":"vehicle"}]}}]})";

inline constexpr const char* kTwoInstances = R"(
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
    server_.answer("GET /v1/applications", kApplications);
    server_.answer("GET /v1/events", kEvents);
  }

  std::vector<std::string> lines_received() const {
    std::vector<std::string> lines;
    for (const Received& received : server_.received()) lines.push_back(received.line);
    return lines;
  }

  CannedServer server_;
};

inline constexpr const char* kAccepted = R"({"accepted":{"revision":"43","instances":[
  {"item":"app","subject":"vehicle"},{"item":"app","subject":"vehicle","index":1}]}})";

inline std::string status(int index, const std::string& state) {
  return R"({"status":{"key":{"item":"app","subject":"vehicle","index":)" + std::to_string(index) +
         R"(},"version":"1.0.0","place":{"node":"n1"},"state":")" + state + "\"}}";
}

inline std::string finished_with(const std::string& state, bool timed_out = false) {
  return R"({"finished":{"timedOut":)" + std::string(timed_out ? "true" : "false") +
         R"(,"instances":[{"key":{"item":"app","subject":"vehicle"},"state":"ACTIVE"},
         {"key":{"item":"app","subject":"vehicle","index":1},"state":")" +
         state + R"(","problem":{"reason":"ExitedEarly","message":"exit code 3"}}]}})";
}

}  // namespace berth::tests
