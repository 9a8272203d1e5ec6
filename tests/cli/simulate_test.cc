#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "process.h"

// `berth simulate`, as people and scripts call it.
namespace berth::tests {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSimulating = BERTH_BIN_DIR "/berth";
const std::string kVehicle = BERTH_SOURCE_DIR "/examples/vehicle";

// n1 has room for 10 of the app, of which one runs; n2 for 5.
constexpr const char* kTwoNodes = R"(
apiVersion: berth/v1
kind: Node
metadata: {name: n1}
spec:
  capacity: {cpu: 1000, ram: 1Gi}
  runtimes: [{name: process, type: process}]
  running: [{item: app, version: 1.0.0, subject: vehicle, index: 3, runtime: process}]
---
apiVersion: berth/v1
kind: Node
metadata: {name: n2}
spec:
  capacity: {cpu: 500, ram: 1Gi}
  runtimes: [{name: process, type: process}]
---
apiVersion: berth/v1
kind: NodeConfig
metadata: {name: of-n2}
spec: {match: {node: n2}, labels: [edge]}
---
apiVersion: berth/v1
kind: Item
metadata: {name: app}
spec:
  version: 1.0.0
  images: [{command: [/bin/app]}]
  request: {cpu: 100, ram: 1Mi}
)";

std::string asking_for(int instances, const std::string& more = "") {
  return std::string(kTwoNodes) +
         "---\napiVersion: berth/v1\nkind: Deployment\nmetadata: {name: base}\n"
         "spec: {run: [{item: app, subject: vehicle, instances: " +
         std::to_string(instances) + more + "}]}\n";
}

Finished simulate(const std::string& documents, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"simulate", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(kSimulating, {std::move(arguments), documents, {}});
}

// But for the time, which is another each time.
json answer_of(const Finished& finished) {
  json answer = json::parse(finished.out);
  EXPECT_GE(answer["seconds"].get<double>(), 0);
  answer.erase("seconds");
  return answer;
}

void expect_readable(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(BerthSimulate, SaysZeroWhenEverythingHasAPlace) {
  const Finished finished = simulate(asking_for(15));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("nodes       2\n"
                                      "instances  15\n"
                                      "placed     15  1 of them where they run\n"
                                      "refused     0\n"));
  EXPECT_THAT(finished.out, Not(HasSubstr("Refused")));
  EXPECT_THAT(finished.out, ContainsRegex("90-100 %  #+ +2 +0\n"));
  EXPECT_THAT(finished.out, ContainsRegex(" 0-10 % +0  #+ +2\n"));
  EXPECT_THAT(finished.err,
              ContainsRegex("^Took (less than )?[0-9.]+ s(: [0-9]+ instances per second)?\\.\n$"));
  EXPECT_THAT(finished.err, Not(HasSubstr("\r"))) << "progress is for terminals";
}

TEST(BerthSimulate, SaysTwoWhenSomethingIsRefusedAndHowToFindOutWhy) {
  const Finished finished = simulate(asking_for(20));
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Refused\n"
                                      "  REASON           INSTANCES  FIRST\n"
                                      "  InsufficientCpu          5  app/vehicle/15\n"
                                      "  What each node says to it:\n"
                                      "    berth why --offline app/vehicle/15 -f -\n"));
}

TEST(BerthSimulate, AnswersPrograms) {
  const Finished finished = simulate(asking_for(20), {"-o", "json"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_EQ(answer_of(finished), json::parse(R"({"nodes": 2, "instances": 20, "placed": 15,
      "refused": 5, "refusedByReason": {"InsufficientCpu": 5},
      "load": {"cpu": [0,0,0,0,0,0,0,0,0,2], "ram": [2,0,0,0,0,0,0,0,0,0]}})"));
  EXPECT_THAT(finished.out, ContainsRegex("^\\{\n  \"nodes\": 2,\n  \"instances\": 20,"));
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(simulate(asking_for(20), {"-o", "yaml"}).out,
              HasSubstr("refusedByReason:\n  InsufficientCpu: 5\n"));
}

TEST(BerthSimulate, MakesALargeClusterOfAFewNodes) {
  const Finished finished =
      simulate(asking_for(10000), {"--nodes", "1000", "--like", "n1,n2", "-o", "json"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_EQ(answer_of(finished), json::parse(R"({"nodes": 1000, "instances": 10000,
      "placed": 7500, "refused": 2500, "refusedByReason": {"InsufficientCpu": 2500},
      "load": {"cpu": [0,0,0,0,0,0,0,0,0,1000], "ram": [1000,0,0,0,0,0,0,0,0,0]}})"));
  const Finished all = simulate(asking_for(10000), {"--nodes", "1000", "-o", "json"});
  EXPECT_EQ(answer_of(all), answer_of(finished)) << "without --like all nodes are copied";
  EXPECT_EQ(answer_of(simulate(asking_for(90), {"--nodes=9", "--like=n1", "-o", "json"}))["placed"],
            90);
}

TEST(BerthSimulate, LetsNodeConfigsCountForCopies) {
  const Finished finished =
      simulate(asking_for(30, ", labels: [edge]"), {"--nodes", "10", "-o", "json"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_EQ(answer_of(finished)["placed"], 25);
}

TEST(BerthSimulate, MeansAllCopiesOfANodeThatIsNamed) {
  const Finished finished =
      simulate(asking_for(30, ", nodes: [n2]"), {"--nodes", "10", "-o", "json"});
  EXPECT_EQ(answer_of(finished)["placed"], 25);
}

TEST(BerthSimulate, TellsOfWhatTheNodesAreCopies) {
  const Finished finished = simulate(asking_for(30), {"--nodes", "1", "--like", "n2"});
  EXPECT_THAT(finished.out, HasSubstr("nodes       1  copies of n2\n"));
  EXPECT_THAT(finished.out, HasSubstr("What each of the nodes that were copied says to it:\n"));
  expect_readable(finished.out);
}

TEST(BerthSimulate, FitsInto80Columns) {
  const Finished finished = simulate(asking_for(1'000'000), {"--nodes", "3000"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  expect_readable(finished.out);
  expect_readable(run(kSimulating, {{"simulate", "-f", kVehicle}, "", {}}).out);
}

TEST(BerthSimulate, PlacesTheExampleAsAPlanDoes) {
  const Finished finished = run(kSimulating, {{"simulate", "-f", kVehicle, "-o", "json"}, "", {}});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const Finished plan =
      run(kSimulating, {{"plan", "--offline", "-f", kVehicle, "-o", "json"}, "", {}});
  EXPECT_EQ(answer_of(finished)["placed"], json::parse(plan.out)["placements"].size());
}

TEST(BerthSimulate, SaysThreeForWhatCannotBe) {
  const auto expect_error = [](const Finished& finished, const char* message) {
    EXPECT_EQ(finished.exit_code, 3) << finished.out;
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, HasSubstr(message));
  };
  const std::string documents = asking_for(1);
  expect_error(simulate(documents, {"--nodes", "10", "--like", "n1,n22"}),
               "the files describe no node \"n22\". Did you mean \"n2\"?");
  expect_error(simulate(documents, {"--like", "n1"}), "--like belongs to --nodes");
  expect_error(simulate(documents, {"--nodes", "0"}), "--nodes");
  expect_error(simulate(documents, {"--nodes", "many"}), "--nodes");
  expect_error(simulate("", {"--nodes", "10"}), "the files describe none");
  expect_error(simulate("kind: Nothing", {}), "error");
  expect_error(simulate(documents, {"-o", "xml"}), "none of table, json, yaml");
  expect_error(run(kSimulating, {{"simulate"}, "", {}}), "-f FILE");
  expect_error(run(kSimulating, {{"simulate", "-f", "/nowhere"}, "", {}}), "/nowhere");
}

TEST(BerthSimulate, IsInHelpManualAndCompletion) {
  EXPECT_THAT(run(kSimulating, {{"--help"}, "", {}}).out, ContainsRegex("\n +simulate +"));
  const std::string help = run(kSimulating, {{"simulate", "--help"}, "", {}}).out;
  EXPECT_THAT(help, HasSubstr("Examples:"));
  EXPECT_THAT(help, HasSubstr("berth plan shows that"));
  EXPECT_THAT(help, HasSubstr("BERTH_LIKE"));
  EXPECT_THAT(run(kSimulating, {{"man", "simulate"}, "", {}}).out, HasSubstr("like"));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished finished = run(kSimulating, {{"completion", shell}, "", {}});
    EXPECT_THAT(finished.out, HasSubstr("simulate")) << shell;
    EXPECT_THAT(finished.out, HasSubstr("like")) << shell;
  }
}

}  // namespace
}  // namespace berth::tests
