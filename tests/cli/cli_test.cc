#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "codec/record.h"
#include "codec/stored_record.h"
#include "process.h"
#include "store/sqlite/kept_store.h"

// The real program, as people and scripts call it.
namespace berth::tests {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kProgram = BERTH_BIN_DIR "/berth";
const std::string kDemo = BERTH_SOURCE_DIR "/examples/vehicle";

constexpr const char* kNode = R"(
apiVersion: berth/v1
kind: Node
metadata: {name: n1}
spec:
  capacity: {cpu: 1000, ram: 1Gi}
  runtimes: [{name: process, type: process, platform: {os: linux, arch: amd64}}]
)";

constexpr const char* kItem = R"(
---
apiVersion: berth/v1
kind: Item
metadata: {name: app}
spec:
  type: service
  version: 1.0.0
  images: [{command: [/bin/app]}]
  request: {cpu: 600, ram: 64Mi}
)";

constexpr const char* kOne = R"(
---
apiVersion: berth/v1
kind: Deployment
metadata: {name: base}
spec: {run: [{item: app, subject: vehicle, priority: 1}]}
)";

constexpr const char* kTwo = R"(
---
apiVersion: berth/v1
kind: Deployment
metadata: {name: base}
spec: {run: [{item: app, subject: vehicle, priority: 1, instances: 2}]}
)";

const std::string kRunning = std::string(kNode) +
                             "  running: [{item: app, version: 1.0.0, subject: vehicle, index: 0, "
                             "runtime: process}]\n";

Finished berth(std::vector<std::string> arguments, std::string input = "",
               std::vector<std::string> environment = {}) {
  return run(kProgram, {std::move(arguments), std::move(input), std::move(environment)});
}

Finished plan(const std::string& documents, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"plan", "--offline", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return berth(std::move(arguments), documents);
}

class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "berth-cli-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(BerthPlan, SaysTenWhenSomethingChanges) {
  const Finished finished = plan(std::string(kNode) + kItem + kOne, {"-o", "json"});
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  const json answer = json::parse(finished.out);
  EXPECT_EQ(answer["revision"], 0);
  EXPECT_EQ(answer["placements"].size(), 1u);
  EXPECT_EQ(answer["placements"][0]["node"], "n1");
  EXPECT_EQ(answer["placements"][0]["action"], "start");
  EXPECT_EQ(answer["nodes"][0]["cpu"]["reserved"], 600);
  EXPECT_EQ(answer["nodes"][0]["cpu"]["available"], 400);
}

TEST(BerthPlan, SaysZeroWhenNothingChanges) {
  const Finished finished = plan(kRunning + kItem + kOne);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("No change: 1 keep"));
}

TEST(BerthPlan, SaysTwoWhenSomethingIsRefusedAndWhy) {
  const Finished finished = plan(std::string(kNode) + kItem + kTwo, {"-o", "json"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  const json refused = json::parse(finished.out)["refused"];
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0]["index"], 1);
  EXPECT_EQ(refused[0]["reason"], "InsufficientCpu");
  EXPECT_EQ(refused[0]["nodes"],
            json::parse(R"([{"node":"n1","reason":"InsufficientCpu","asked":600,"has":400}])"));
  EXPECT_EQ(refused[0]["hint"], "free 200 DMIPS on n1");
}

TEST(BerthPlan, TheExampleOfAVirtualMachineFindsItsPlace) {
  const Folder folder;
  const std::string node = folder.write("node.yaml", R"(
apiVersion: berth/v1
kind: Node
metadata: {name: n1}
spec:
  capacity: {cpu: 10000, ram: 1Gi}
  runtimes: [{name: vm, type: vm, platform: {os: linux, arch: amd64}}]
)");
  const Finished finished =
      berth({"plan", "--offline", "-f", BERTH_SOURCE_DIR "/examples/virtual-machine", "-f", node});
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("n1/vm"));
}

TEST(BerthPlan, SaysThreeForInvalidDocumentsAndTellsAllAtOnce) {
  const Folder folder;
  const std::string file = folder.write("bad.yaml",
                                        "apiVersion: berth/v1\n"
                                        "kind: Item\n"
                                        "metadata: {name: app}\n"
                                        "spec:\n"
                                        "  version: 1.0.0\n"
                                        "  imagez: []\n"
                                        "  images:\n"
                                        "    - runtimes: [dokcer]\n"
                                        "      command: [/bin/app]\n");
  const Finished finished = berth({"plan", "--offline", "-f", file});
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err,
              ContainsRegex("bad.yaml:6:3: error: spec: unknown key .imagez.\\. Did you mean"));
  EXPECT_THAT(finished.err, ContainsRegex("bad.yaml:8:[0-9]+: error: spec.images\\[0\\].runtimes"));
  EXPECT_THAT(finished.err, ContainsRegex("the files have [2-9] errors"));
}

TEST(BerthPlan, SaysThreeForFilesThatCannotBeReadAndNamesThemAll) {
  const Finished finished =
      berth({"plan", "--offline", "-f", "/nowhere/a.yaml", "-f", "/nowhere/b"});
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("/nowhere/a.yaml: error: No such file or directory"));
  EXPECT_THAT(finished.err, HasSubstr("/nowhere/b: error: No such file or directory"));
}

TEST(BerthPlan, SaysThreeForFlagsThatContradictEachOther) {
  EXPECT_EQ(plan(kNode, {"--replan", "--rebalance"}).exit_code, 3);
  EXPECT_EQ(plan(kNode, {"--full"}).exit_code, 3);
  EXPECT_EQ(plan(kNode, {"-o", "xml"}).exit_code, 3);
  EXPECT_THAT(plan(kNode, {"--oflline"}).err,
              HasSubstr("no flag --oflline. Did you mean \"--offline\"?"));
  EXPECT_EQ(plan(kNode, {"--oflline"}).exit_code, 3);
  EXPECT_EQ(berth({"plan", "--offline"}).exit_code, 3);
}

TEST(BerthPlan, SaysSixWithoutAControlPlane) {
  const Finished finished = berth({"plan", "-f", kDemo});
  EXPECT_EQ(finished.exit_code, 6);
  EXPECT_THAT(finished.err, HasSubstr("--offline"));
}

TEST(BerthPlan, RebalancesWithOrWithoutMovingAsLittleAsPossible) {
  EXPECT_EQ(plan(kRunning + kItem + kOne, {"--rebalance"}).exit_code, 0);
  EXPECT_EQ(plan(kRunning + kItem + kOne, {"--rebalance", "--full"}).exit_code, 0);
}

constexpr const char* kHot = R"(
apiVersion: berth/v1
kind: Node
metadata: {name: n1}
spec:
  capacity: {cpu: 1000, ram: 1Gi}
  usage: {cpu: 900}
  runtimes: [{name: process, type: process}]
  running: [{item: app, version: 1.0.0, subject: vehicle, index: 0, runtime: process, usage: {cpu: 200}}]
---
apiVersion: berth/v1
kind: NodeConfig
metadata: {name: everywhere}
spec: {thresholds: {cpu: {}}}
)";

TEST(BerthPlan, ShowsWhatRelievesAnOverloadedNode) {
  constexpr const char* kOther =
      "---\n{apiVersion: berth/v1, kind: Node, metadata: {name: n2}, spec: {capacity: {cpu: 1000, "
      "ram: 1Gi}, runtimes: [{name: process, type: process}]}}\n";
  const Finished finished = plan(std::string(kHot) + kOther + kItem + kOne, {"--rebalance"});
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Overloaded nodes"));
  EXPECT_THAT(finished.out, ContainsRegex("n1 +90.0 % .* 70.0 % .min 75.0 %. +yes +app/vehicle/0"));
}

TEST(BerthPlan, ShowsWhatADrainWouldDoAndThatAStateStopsFirst) {
  constexpr const char* kOther =
      "---\n{apiVersion: berth/v1, kind: Node, metadata: {name: n2}, spec: {capacity: {cpu: 1000, "
      "ram: 1Gi}, runtimes: [{name: process, type: process}]}}\n";
  const std::string cluster =
      std::string(kHot) + kOther + kItem + "  quotas: {state: 1Mi}\n" + kOne;
  const Finished finished = plan(cluster, {"--drain", "n1"});
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  EXPECT_THAT(finished.out, ContainsRegex("move +app/vehicle/0 .* n1/process +stops first"));
  EXPECT_EQ(plan(cluster, {"--drain", "n9"}).exit_code, 4);
}

TEST(BerthPlan, SaysTwoWhereNothingRelievesAnOverloadedNode) {
  const Finished finished = plan(std::string(kHot) + kItem + kOne, {"--rebalance"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("NoOtherPlace"));
  EXPECT_THAT(finished.out, HasSubstr("there is no other node"));
}

TEST(BerthPlan, TakesADirectoryInNameOrderAndSeveralFiles) {
  const Folder folder;
  folder.write("b.yml", std::string(kItem));
  folder.write("a.yaml", kNode);
  folder.write("notes.txt", "not: [a manifest");
  const std::string deployment = folder.write("c.yaml", kOne);
  EXPECT_EQ(berth({"plan", "--offline", "-f", folder.path()}).exit_code, 10);
  EXPECT_EQ(berth({"plan", "--offline", "-f", folder.path() + "/a.yaml", folder.path() + "/b.yml",
                   "-f", deployment})
                .exit_code,
            10);
  const Folder empty;
  EXPECT_EQ(berth({"plan", "--offline", "-f", empty.path()}).exit_code, 3);
}

TEST(BerthPlan, PlacesEveryInstanceOfTheDemo) {
  const Finished finished = berth({"plan", "--offline", "-f", kDemo, "-o", "json"});
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  EXPECT_EQ(finished.err, "");
  const json answer = json::parse(finished.out);
  EXPECT_GE(answer["placements"].size(), 12u);
  EXPECT_EQ(answer["refused"], json::array());
}

TEST(BerthPlan, RefusesWhatTheDemoSaysIsTooBig) {
  const Finished finished =
      berth({"plan", "--offline", "-f", kDemo, "-f", kDemo + "/what-if/too-big.yaml"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("rear-vision/vehicle/0 1.0.0: InsufficientCpu"));
  EXPECT_THAT(finished.out, HasSubstr("hint: "));
}

TEST(BerthPlan, GivesTheSamePlanInEveryForm) {
  const std::string documents = std::string(kNode) + kItem + kOne;
  EXPECT_EQ(plan(documents, {"-o", "name"}).out, "instance/app/vehicle/0\n");
  EXPECT_THAT(plan(documents, {"-o", "yaml"}).out, HasSubstr("placements:\n- item: app\n"));
  EXPECT_THAT(plan(documents, {"-o", "wide"}).out, HasSubstr("0: /bin/app"));
  EXPECT_THAT(plan(documents).out, HasSubstr("1 start\n"));
}

TEST(BerthPlan, HasNoColoursAndNoUnicodeWhereNobodyAskedForThem) {
  const Finished finished = plan(std::string(kNode) + kItem + kOne);
  EXPECT_THAT(finished.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(finished.out, HasSubstr("######...."));
}

TEST(BerthPlan, ShowsKeepUpdateMoveAndStopOfTheDemoAfterAWhile) {
  const std::vector<std::string> arguments{"plan",
                                           "--offline",
                                           "-o",
                                           "json",
                                           "-f",
                                           kDemo + "/what-if/after-a-while.yaml",
                                           kDemo + "/items.yaml",
                                           kDemo + "/deployment.yaml"};
  const Finished finished = berth(arguments);
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  const json answer = json::parse(finished.out);
  std::map<std::string, int> actions;
  for (const json& placement : answer["placements"]) {
    ++actions[placement["action"].get<std::string>()];
    const bool moves = placement["action"] == "move";
    EXPECT_EQ(placement.contains("from"), moves) << placement;
  }
  EXPECT_EQ(actions,
            (std::map<std::string, int>{{"keep", 9}, {"move", 1}, {"start", 5}, {"update", 1}}));
  EXPECT_EQ(answer["stops"][0]["item"], "trip-log");
}

TEST(BerthPlan, TakesFlagsFromTheEnvironment) {
  const Finished finished = berth({"plan"}, std::string(kNode) + kItem + kOne,
                                  {"BERTH_OFFLINE=true", "BERTH_FILE=-", "BERTH_OUTPUT=name"});
  EXPECT_EQ(finished.exit_code, 10) << finished.err;
  EXPECT_EQ(finished.out, "instance/app/vehicle/0\n");
}

TEST(BerthPlan, DoesNotMindTheEnvironmentOfOtherVerbs) {
  EXPECT_EQ(berth({"version"}, "", {"BERTH_OUTPUT=bogus"}).exit_code, 0);
  const Finished finished = berth({"plan", "--offline", "-f", "-"}, kNode, {"BERTH_OUTPUT=bogus"});
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("\"bogus\" is none of table, wide, json, yaml, name."));
}

TEST(BerthWhy, TellsWhatEachNodeSays) {
  const std::string documents = std::string(kNode) + kItem + kTwo;
  const Finished chosen = berth({"why", "--offline", "app", "-f", "-"}, documents);
  EXPECT_EQ(chosen.exit_code, 0) << chosen.err;
  EXPECT_THAT(chosen.out, ContainsRegex("n1 +chosen"));
  const Finished refused =
      berth({"why", "--offline", "-f", "-", "instance/app/vehicle/1"}, documents);
  EXPECT_EQ(refused.exit_code, 0) << refused.err;
  EXPECT_THAT(refused.out, ContainsRegex("n1 +InsufficientCpu +asked 600 DMIPS, has 400 DMIPS"));
  EXPECT_THAT(refused.out, HasSubstr("hint: free 200 DMIPS on n1"));
}

TEST(BerthWhy, AnswersProgramsToo) {
  const Finished finished = berth({"why", "--offline", "app/vehicle/1", "-f", "-", "-o", "json"},
                                  std::string(kNode) + kItem + kTwo);
  const json answer = json::parse(finished.out);
  EXPECT_EQ(answer["item"], "app");
  EXPECT_EQ(answer["now"]["reason"], "InsufficientCpu");
  EXPECT_EQ(answer["now"]["nodes"][0]["asked"], 600);
  EXPECT_EQ(answer["now"]["hint"], "free 200 DMIPS on n1");
  EXPECT_FALSE(answer.contains("decision")) << "nobody knows what was decided";
  const Finished yaml = berth({"why", "--offline", "app", "-f", "-", "-o", "yaml"},
                              std::string(kNode) + kItem + kTwo);
  EXPECT_THAT(yaml.out, HasSubstr("now:\n  summary:"));
}

TEST(BerthWhy, SaysFourForAnUnknownInstanceAndSuggestsOne) {
  const std::string documents = std::string(kNode) + kItem + kOne;
  const Finished item = berth({"why", "--offline", "apq", "-f", "-"}, documents);
  EXPECT_EQ(item.exit_code, 4);
  EXPECT_THAT(item.err, HasSubstr("Did you mean \"app\"?"));
  const Finished subject = berth({"why", "--offline", "app/truck", "-f", "-"}, documents);
  EXPECT_EQ(subject.exit_code, 4);
  EXPECT_THAT(subject.err, HasSubstr("Did you mean app/vehicle?"));
}

TEST(Berth, PrintsTheSchema) {
  const Finished finished = berth({"schema"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_TRUE(json::parse(finished.out).contains("$schema"));
}

TEST(Berth, PrintsItsVersionTwoWays) {
  EXPECT_THAT(berth({"version"}).out, ContainsRegex("^berth [0-9]+\\.[0-9]+\\.[0-9]+\n$"));
  EXPECT_EQ(berth({"version"}).out, berth({"--version"}).out);
}

TEST(Berth, CompletesInThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished finished = berth({"completion", shell});
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_THAT(finished.out, HasSubstr("rebalance")) << shell;
  }
  EXPECT_EQ(berth({"completion", "tcsh"}).exit_code, 3);
}

TEST(Berth, HelpsWithExamplesOnEveryVerb) {
  EXPECT_THAT(berth({"--help"}).out, HasSubstr("Exit codes:"));
  for (const char* verb : {"plan", "why", "simulate", "schema", "completion", "version"}) {
    const Finished finished = berth({verb, "--help"});
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_THAT(finished.out, HasSubstr("Examples:")) << verb;
  }
}

TEST(Berth, SuggestsAVerb) {
  const Finished finished = berth({"paln"});
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("\"paln\" is no verb. Did you mean \"plan\"?"));
  EXPECT_EQ(berth({}).exit_code, 3);
}

// --- store

// A directory with a store of a control plane, and one last good state of it.
class BerthStore : public ::testing::Test {
 protected:
  BerthStore() {
    const auto opened = store::open_or_recover(path_);
    EXPECT_TRUE(opened->store->commit({{"counters/counters", kCounters}, {"tokens/x", "any"}}));
  }

  Finished in_directory(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "store");
    arguments.insert(arguments.end(), {"--directory", folder_.path()});
    return berth(std::move(arguments));
  }
  void damage(std::string_view text) {
    std::string bytes = contents(path_);
    const std::size_t at = bytes.find(text);
    ASSERT_NE(at, bytes.npos);
    bytes[at] = 'X';
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string kCounters = codec::encode_record(model::CounterRecord{.revision = 42});
  Folder folder_;
  const std::string path_ = folder_.path() + "/berthd.db";
};

TEST_F(BerthStore, CheckTellsWhatAGoodOneHas) {
  const Finished finished = in_directory({"check"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("berthd.db is good: 2 records, 1 commits, revision 42"));
  EXPECT_THAT(finished.out, HasSubstr("last good state berthd.db.good-"));
}

TEST_F(BerthStore, CheckNamesWhatIsDamagedAndChangesNothing) {
  damage("\"revision\"");
  const std::string before = contents(path_);
  const Finished finished = in_directory({"check"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.out, HasSubstr("unreadable: counters/counters"));
  EXPECT_THAT(finished.out, HasSubstr("berth store repair"));
  EXPECT_EQ(contents(path_), before);
}

TEST_F(BerthStore, CheckFindsARecordThatTheDaemonCouldNotRead) {
  { ASSERT_TRUE(store::SqliteStore::open(path_)->commit({{"nodes/n1", "{\"id\":"}})); }
  const Finished finished = in_directory({"check"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.out, HasSubstr("nodes/n1 cannot be read"));
}

TEST_F(BerthStore, RepairUsesTheLastGoodStateAndTellsWhatIsLost) {
  {
    auto newer = store::SqliteStore::open(path_);
    ASSERT_TRUE(newer->commit({{"tokens/y", "newer"}, {"tokens/x", std::nullopt}}));
  }
  damage("\"revision\"");
  const std::string damaged = contents(path_);
  const Finished finished = in_directory({"repair"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("unreadable: counters/counters"));
  EXPECT_THAT(finished.out, HasSubstr("is now the last good state"));
  EXPECT_THAT(finished.out, HasSubstr("lost: tokens/y"));
  EXPECT_THAT(finished.out, HasSubstr("berth store accept"));
  EXPECT_EQ(contents(path_ + ".damaged-1"), damaged);
  EXPECT_EQ(in_directory({"check"}).exit_code, 0);
}

TEST_F(BerthStore, RepairCanKeepWhatIsReadable) {
  { ASSERT_TRUE(store::SqliteStore::open(path_)->commit({{"tokens/y", "newer"}})); }
  damage("\"revision\"");
  const Finished finished = in_directory({"repair", "--readable"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("is now what could be read: 2 records"));
  EXPECT_EQ(store::SqliteStore::open(path_)->get("tokens/y").value(), "newer");
}

// The agent would take it for all that it was told, and stop what it does not know.
TEST_F(BerthStore, AnAgentIsInDoubtAboutAStoreThatWasPutInThePlaceOfItsOwn) {
  const Folder agents;
  const std::string path = agents.path() + "/agent.db";
  const std::string acted = codec::encode_record(model::CommandNumber{1, 2});
  { ASSERT_TRUE(store::open_or_recover(path)->store->commit({{"acted", acted}})); }
  const std::string backup = folder_.path() + "/agent.store";
  ASSERT_EQ(berth({"store", "backup", backup, "--directory", agents.path()}).exit_code, 0);
  const auto is_in_doubt = [&] {
    auto opened = store::SqliteStore::open(path);
    const bool is_there = opened->get("doubt")->has_value();
    EXPECT_TRUE(opened->commit({{"doubt", std::nullopt}}));
    return is_there;
  };
  EXPECT_FALSE(is_in_doubt());
  std::ofstream(path, std::ios::binary) << "garbage";
  const Finished repaired = berth({"store", "repair", "--directory", agents.path()});
  EXPECT_EQ(repaired.exit_code, 0) << repaired.out << repaired.err;
  EXPECT_THAT(repaired.out, HasSubstr("keeps what runs until the control plane"));
  EXPECT_TRUE(is_in_doubt());
  const Finished restored = berth({"store", "restore", backup, "--directory", agents.path()});
  EXPECT_EQ(restored.exit_code, 0) << restored.out << restored.err;
  EXPECT_TRUE(is_in_doubt());
}

TEST_F(BerthStore, CheckShowsNoBytesThatATerminalWouldObey) {
  const std::string wild = "{\"id\":\"n1\",\"x\x1b[31m\xff\":1}";
  { ASSERT_TRUE(store::SqliteStore::open(path_)->commit({{"nodes/n1", wild}})); }
  const Finished finished = in_directory({"check"});
  EXPECT_THAT(finished.out, HasSubstr("nodes/n1 cannot be read"));
  EXPECT_THAT(finished.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(finished.out, Not(HasSubstr("\xff")));
}

TEST_F(BerthStore, ABackupIsNotRestoredIntoTheDirectoryOfAnother) {
  const std::string backup = folder_.path() + "/unit.store";
  ASSERT_EQ(in_directory({"backup", backup}).exit_code, 0);
  const Folder agents;
  { ASSERT_TRUE(store::open_or_recover(agents.path() + "/agent.db")->store); }
  const Finished finished = berth({"store", "restore", backup, "--directory", agents.path()});
  EXPECT_EQ(finished.exit_code, 3) << finished.out;
  EXPECT_THAT(finished.err, HasSubstr("is the directory of an agent (it has agent.db)"));
  EXPECT_FALSE(std::filesystem::exists(agents.path() + "/berthd.db"));
  const Folder fresh;
  EXPECT_EQ(berth({"store", "restore", backup, "--directory", fresh.path()}).exit_code, 0);
}

TEST_F(BerthStore, ABackupComesBackAndWhatWasThereIsKept) {
  const std::string backup = folder_.path() + "/unit.store";
  ASSERT_EQ(in_directory({"backup", backup}).exit_code, 0);
  EXPECT_EQ(berth({"store", "check", backup}).exit_code, 0);
  { ASSERT_TRUE(store::SqliteStore::open(path_)->commit({{"tokens/y", "newer"}})); }
  const Finished finished = in_directory({"restore", backup});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("berth store accept"));
  EXPECT_EQ(in_directory({"check"}).exit_code, 0) << "it is not taken for an old one";
  EXPECT_EQ(store::SqliteStore::open(path_)->get("tokens/y").value(), std::nullopt);
  EXPECT_EQ(store::SqliteStore::look_at(path_ + ".replaced-1")->get("tokens/y").value(), "newer");
}

TEST_F(BerthStore, AStoreInUseIsRefusedAndLeftAlone) {
  const std::string backup = folder_.path() + "/unit.store";
  ASSERT_EQ(in_directory({"backup", backup}).exit_code, 0);
  const auto used = store::SqliteStore::open(path_);
  for (const std::string action : {"restore", "check", "repair", "backup"}) {
    std::vector<std::string> arguments{action};
    if (action == "restore" || action == "backup") arguments.push_back(backup);
    const Finished finished = in_directory(arguments);
    EXPECT_EQ(finished.exit_code, 1) << action << finished.out;
    EXPECT_THAT(finished.err, HasSubstr("is in use: stop berthd first")) << action;
  }
}

TEST_F(BerthStore, WhatIsNoBackupIsNotRestored) {
  const std::string before = contents(path_);
  const Finished finished = in_directory({"restore", folder_.write("backup", "garbage")});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("nothing was changed"));
  EXPECT_EQ(contents(path_), before);
  EXPECT_EQ(in_directory({"restore", folder_.path() + "/missing"}).exit_code, 4);
}

TEST_F(BerthStore, WrongCallsAreInvalid) {
  EXPECT_EQ(in_directory({"restore"}).exit_code, 3);
  EXPECT_EQ(in_directory({"repair", "file"}).exit_code, 3);
  EXPECT_EQ(in_directory({"mend"}).exit_code, 3);
  const Finished accept = in_directory({"accept", "--readable"});
  EXPECT_EQ(accept.exit_code, 3);
  EXPECT_THAT(accept.err, HasSubstr("--readable is for berth store repair"));
  EXPECT_EQ(in_directory({"accept", "--dry-run"}).exit_code, 3);
  EXPECT_EQ(in_directory({"check", "--new-authority"}).exit_code, 3);
  EXPECT_EQ(in_directory({"adopt", "file"}).exit_code, 3);
  const Folder empty;
  EXPECT_EQ(berth({"store", "check", "--directory", empty.path()}).exit_code, 4);
}

TEST_F(BerthStore, AnAuthorityIsGivenUpOnlyWhenAsked) {
  std::filesystem::create_directory(folder_.path() + "/authority");
  const Finished finished = in_directory({"repair", "--new-authority"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("joined again"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/authority.replaced-1"));
  EXPECT_EQ(store::SqliteStore::open(path_)->get(codec::kAuthorityKey).value(), "");
}

constexpr const char* kApplication = R"(
apiVersion: berth/v1
kind: Application
metadata: {name: echo, namespace: games}
spec:
  item: echo
  scaling: {maximum: 100, burst: 10, idle: {low: 2, high: 5}, standby: {high: 2}}
)";

TEST(PlanPool, SaysWhatTheScalingPolicyWouldDo) {
  const Finished made = plan(
      kApplication,
      {"--pool", "active=3,ready=4,pending=0,standby=0,terminating=0,waiting=3", "-o", "json"});
  EXPECT_EQ(made.exit_code, 10) << made.err;
  EXPECT_EQ(json::parse(made.out), (json{{"wanted", 5},
                                         {"create", 1},
                                         {"makeStandby", 0},
                                         {"remove", 0},
                                         {"wake", 0},
                                         {"pause", 0}}));
  const Finished removed = plan(kApplication, {"--pool", "ready=20", "-o", "json"});
  EXPECT_EQ(json::parse(removed.out), (json{{"wanted", 5},
                                            {"create", 0},
                                            {"makeStandby", 0},
                                            {"remove", 10},
                                            {"wake", 0},
                                            {"pause", 2}}));
}

TEST(PlanPool, SaysWhy) {
  const Finished finished = plan(kApplication, {"--pool", "active=3,ready=4,waiting=3"});
  EXPECT_EQ(finished.out,
            "games/echo: 3 active, 4 ready, 3 waiting\n"
            "Sessions that wait need 3 instances, and 2 to 5 are to be idle: 5 to 8 pending or "
            "ready, 4 are there.\n"
            "Wanted: 5 pending or ready\n"
            "  create 1\n");
  const Finished rest = plan(kApplication, {"--pool", "ready=3"});
  EXPECT_EQ(rest.exit_code, 0);
  EXPECT_THAT(rest.out, HasSubstr("nothing to do"));
  EXPECT_THAT(plan(kApplication, {"--pool", "ready=30"}).out, HasSubstr("More would follow"));
  EXPECT_THAT(plan(kApplication, {"--pool", "active=99"}).out,
              HasSubstr("With 99 active, minimum 0 and maximum 100 make that 1."));
}

TEST(PlanPool, SaysWhatIsWrong) {
  const Finished word = plan(kApplication, {"--pool", "redy=4"});
  EXPECT_EQ(word.exit_code, 3);
  EXPECT_THAT(word.err, HasSubstr("Did you mean \"ready\"?"));
  EXPECT_EQ(plan(kApplication, {"--pool", "ready=x"}).exit_code, 3);
  EXPECT_EQ(plan(kApplication, {"--pool", "ready"}).exit_code, 3);
  EXPECT_EQ(plan(kApplication, {"--pool", "ready=1", "--rebalance"}).exit_code, 3);
  EXPECT_THAT(plan(kItem, {"--pool", "ready=1"}).err, HasSubstr("the files have none"));
  EXPECT_EQ(berth({"plan", "-f", "-", "--pool", "ready=1"}, kApplication).exit_code, 3);
}

}  // namespace
}  // namespace berth::tests
